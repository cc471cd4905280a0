"""The report of a results store: one HTML page that works offline, and Markdown."""

from pairsift.report.document import Report, build_report
from pairsift.report.markdown import markdown
from pairsift.report.page import page

__all__ = ["Report", "build_report", "markdown", "page"]
