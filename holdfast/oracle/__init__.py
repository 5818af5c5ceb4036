"""`holdfast oracle`: a board without a site, for one machine; docs/oracle.md.

`client` needs the base requirements alone; all else `holdfast[oracle]`, imported when it runs.
"""
