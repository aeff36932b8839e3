"""Results of a search: cv_results_, history_, the summary and the statistics of the choice."""
