"""The geometry of the site's charts: frozen data in, frozen geometry out, no drawing."""
