"""What a search reports: cv_results_, history_, the summary, and how sure the choice is."""
