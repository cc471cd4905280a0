"""Training where the data are: on partitions of a table that no single machine holds.

An engine (`pairsift.engines.protocol`) runs a function over the partitions of a table and collects what is small;
there is one for processes of this machine (`local`), one for Dask and one for Spark. What is learned, and how, is
written once, in `algorithm`; what runs beside the data is in `passes`.
"""
