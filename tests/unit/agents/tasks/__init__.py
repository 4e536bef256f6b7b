"""An analyst's tasks, done end to end by programs in the place of a model: plumbing, not intelligence."""
