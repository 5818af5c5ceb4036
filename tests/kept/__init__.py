"""Small installations as earlier versions left them; the present one carries them on."""
