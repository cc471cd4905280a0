// Reads of a file by byte ranges.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"
#include "file_reads.hpp"

namespace pairsift {

using namespace nb::literals;

void bind_file_reads(nb::module_& m) {
    m.def(
        "read_ranges",
        [](int file, In<std::int64_t> offsets, In<std::int64_t> lengths, In<std::int64_t> places, Out<std::uint8_t> out) {
            const std::int64_t n = length(offsets), room = length(out);
            require(length(lengths) == n && length(places) == n, "read_ranges: shapes do not agree");
            for (std::int64_t t = 0; t < n; ++t) {
                const std::int64_t size = lengths.data()[t], place = places.data()[t];
                require(size >= 0 && size <= room && place >= 0 && place <= room - size && offsets.data()[t] >= 0 &&
                            offsets.data()[t] <= INT64_MAX - size,
                        "read_ranges: a range is out of bounds");
            }
            ReadOutcome outcome;
            {
                nb::gil_scoped_release release;
                outcome = FileReads(file, offsets.data(), lengths.data(), places.data(), n).read(out.data());
            }
            return std::make_tuple(outcome.error, outcome.at);
        },
        "file"_a, "offsets"_a.noconvert(), "lengths"_a.noconvert(), "places"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace pairsift
