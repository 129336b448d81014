"""Small widgets shared by panels."""
