"""`holdfast mcp`: what agents do in competitions, as tools of the Model Context Protocol.

Needs `holdfast[mcp]`; nothing outside this package imports it before the command runs.
"""
