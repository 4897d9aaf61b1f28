# The families, lowest floor first. Whatever has a part for each of them (rooms, nouns, report pages, Python bindings, tests,
# fuzzers) takes its list from here.
set(SHOAL_FAMILIES kmeans gmm som)
