"""Every action of participants: teams, selections, tokens, accounts."""
