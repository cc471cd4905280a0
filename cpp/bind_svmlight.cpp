// The reader of svmlight text.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "svmlight.hpp"

namespace pairsift {

using namespace nb::literals;

namespace {

template <class T>
nb::object give(Growing<T>& numbers) {
    const std::size_t n = numbers.size();
    T* data = numbers.release();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {n}, owner));
}

// values, indices, starts, labels and qids of the rows read so far, which the parser then forgets. Indices are as
// written less `shift`; indices and starts are both int32, or both int64 when either needs it.
template <class Value>
nb::tuple take(SvmlightParser<Value>& parser, std::int64_t shift) {
    require(shift == 0 || parser.values.size() == 0 || parser.min_index >= shift, "take: an index would become negative");
    Growing<std::int32_t> starts;
    {
        nb::gil_scoped_release release;
        if (!parser.is_wide && parser.values.size() > INT32_MAX) parser.widen();
        for (std::size_t k = 0; k < parser.narrow.size(); ++k) parser.narrow.data()[k] -= static_cast<std::int32_t>(shift);
        for (std::size_t k = 0; k < parser.wide.size(); ++k) parser.wide.data()[k] -= shift;
        if (!parser.is_wide) starts.append(parser.starts.data(), parser.starts.size());
    }
    nb::object columns = parser.is_wide ? give(parser.wide) : give(parser.narrow);
    nb::object row_starts = parser.is_wide ? give(parser.starts) : give(starts);
    nb::tuple result = nb::make_tuple(give(parser.values), columns, row_starts, give(parser.labels), give(parser.qids));
    parser.clear_rows();
    return result;
}

template <class Value>
void bind_parser(nb::module_& m, const char* name) {
    using Parser = SvmlightParser<Value>;
    nb::class_<Parser>(m, name)
        .def(
            "__init__",
            [](Parser* self, std::int64_t least_index, std::int64_t most_index, std::int64_t piece_bytes) {
                new (self) Parser({least_index, most_index}, piece_bytes);
            },
            "least_index"_a, "most_index"_a, "piece_bytes"_a)
        .def(
            "feed",
            [](Parser& parser, In<std::uint8_t> text, bool last, int threads) {
                nb::gil_scoped_release release;
                return parser.feed(reinterpret_cast<const char*>(text.data()), length(text), last, threads);
            },
            "text"_a.noconvert(), "last"_a, "threads"_a)
        .def("take", &take<Value>, "shift"_a)
        .def_prop_ro("fault",
                     [](const Parser& parser) -> nb::object {
                         if (!parser.fault) return nb::none();
                         const TextFault& fault = parser.fault;
                         return nb::make_tuple(fault.place.line, fault.place.column, fault.reason, fault.got);
                     })
        .def_prop_ro("n_rows", [](const Parser& parser) { return parser.n_rows(); })
        .def_prop_ro("has_rows", [](const Parser& parser) { return parser.has_rows; })
        .def_prop_ro("has_qid", [](const Parser& parser) { return parser.has_qid; })
        .def_prop_ro("min_index", [](const Parser& parser) { return parser.min_index; })
        .def_prop_ro("max_index", [](const Parser& parser) { return parser.max_index; })
        .def_prop_ro("max_place", [](const Parser& parser) {
            return std::make_tuple(parser.max_place.line, parser.max_place.column);
        });
}

}  // namespace

void bind_svmlight(nb::module_& m) {
    bind_parser<float>(m, "SvmlightParserF32");
    bind_parser<double>(m, "SvmlightParserF64");
}

}  // namespace pairsift
