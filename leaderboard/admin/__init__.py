"""Django's admin, nearly stock, for operators; organizers have the console."""
