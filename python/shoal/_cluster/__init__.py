"""One fit on several processes, whatever engine starts them and carries their words.

Every process makes the same call of an estimator on the rows that it holds. The library folds them, and asks for words to
and from the others; so the statistics are merged by the tree of one process, and the bits are those of one process too.
"""
