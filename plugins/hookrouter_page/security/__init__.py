"""Who may see the page and do what: logins, their cookies, and what is checked of every request."""
