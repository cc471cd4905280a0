// Feeds mutated svmlight text to the parser and checks what comes out; tools/fuzz_svmlight.py builds it with the address
// and undefined-behaviour sanitizers and gives it the corpus.
//
//   svmlight_fuzz inputs COUNT SEED FILE...   mutate the files COUNT times
//   svmlight_fuzz numbers COUNT SEED          COUNT random decimal numbers against strtod
//   svmlight_fuzz line BYTES                  one line of that length, then the same with a fault at its end
//
// With PAIRSIFT_LIBFUZZER it is a target of libFuzzer instead, which finds its own inputs by coverage.
//
// Each input is read twice: as a whole on one thread, and cut at random into blocks on several threads. Both must give
// the same bits or the same fault, and rows must be well formed. A finding aborts (exit status not 0).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "svmlight.hpp"

namespace {

using pairsift::Growing;
using pairsift::IndexLimits;
using Text = std::string;

constexpr std::size_t kThreadsEvery = 256;  // so many inputs: starting threads under the sanitizers is slow

struct Random {
    std::uint64_t state;
    std::uint64_t next() {
        std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }
};

[[noreturn]] void fail(const char* what, const Text& text) {
    std::fprintf(stderr, "FINDING: %s; the input in hexadecimal:\n", what);
    for (unsigned char byte : text.substr(0, 4000)) std::fprintf(stderr, "%02x", byte);
    std::fprintf(stderr, "\n");
    std::abort();
}

const char* const tokens[] = {
    "qid:", "qid:7 ", "0:", "1:1", "2147483647:1", "2147483648:1", "9223372036854775806:1",
    "9223372036854775807:1", "9223372036854775808:1", "99999999999999999999999:1", "nan", "inf", "-inf",
    "1e999", "-1e999", "1e-999", "0e999", "4.9e-324", "1.7976931348623157e308", "1.7976931348623159e308", "#",
    "\r", "\r\n", "\n", "\t", " ", ":", "+", "-", ".", "e", "E", "0x1p3", "1_0", "\xef\xbb\xbf", ",", "+1 ",
    "-1 ", "1e", "1e+", "00000000000000000000000000001",
    "0.1000000000000000055511151231257827021181583404541015625"};

void mutate(Text& text, const std::vector<Text>& corpus, Random& random) {
    for (std::size_t k = 1 + random.below(5); k > 0; --k) {
        const std::size_t at = random.below(text.size() + 1);
        switch (random.below(9)) {
            case 0: if (at < text.size()) text[at] = static_cast<char>(random.next()); break;
            case 1: if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8))); break;
            case 2: text.insert(at, 1, static_cast<char>(random.next())); break;
            case 3: text.erase(at, 1 + random.below(8)); break;
            case 4: text.resize(at); break;
            case 5: text.insert(at, text.substr(random.below(text.size() + 1), random.below(40))); break;
            case 6: text.insert(at, tokens[random.below(std::size(tokens))]); break;
            case 7: if (at < text.size()) text[at] = static_cast<char>('0' + random.below(10)); break;
            default: {
                const Text& other = corpus[random.below(corpus.size())];
                text = text.substr(0, at) + other.substr(random.below(other.size() + 1));
            }
        }
    }
    if (text.size() > 4096) text.resize(4096);
}

template <class T>
bool same(const Growing<T>& a, const Growing<T>& b) {
    return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class Parser>
bool same(const Parser& a, const Parser& b) {
    if (a.fault || b.fault)
        return a.fault.place.line == b.fault.place.line && a.fault.place.column == b.fault.place.column &&
               a.fault.reason == b.fault.reason && a.fault.got == b.fault.got;
    return same(a.values, b.values) && same(a.narrow, b.narrow) && same(a.wide, b.wide) && same(a.starts, b.starts) &&
           same(a.labels, b.labels) && same(a.qids, b.qids) && a.min_index == b.min_index && a.max_index == b.max_index &&
           a.max_place.line == b.max_place.line && a.max_place.column == b.max_place.column && a.has_qid == b.has_qid;
}

template <class Parser>
void check_rows(const Parser& parser, const Text& text) {
    if (parser.fault) {
        if (parser.fault.reason.empty() || parser.fault.place.line < 1 || parser.fault.place.column < 1)
            fail("a fault without a place", text);
        return;
    }
    const std::size_t n = parser.n_rows();
    if (parser.starts.size() != n + 1 || parser.qids.size() != (parser.has_qid ? n : 0)) fail("lengths disagree", text);
    if (static_cast<std::size_t>(parser.starts[n]) != parser.values.size()) fail("starts disagree with values", text);
    if (parser.narrow.size() + parser.wide.size() != parser.values.size()) fail("indices disagree with values", text);
    for (std::size_t row = 0; row < n; ++row) {
        if (parser.starts[row] > parser.starts[row + 1] || !std::isfinite(parser.labels[row])) fail("a bad row", text);
        std::int64_t last = -1;
        const auto end = static_cast<std::size_t>(parser.starts[row + 1]);
        for (auto at = static_cast<std::size_t>(parser.starts[row]); at < end; ++at) {
            const std::int64_t index = parser.is_wide ? parser.wide[at] : parser.narrow[at];
            if (index <= last || index > parser.max_index || !std::isfinite(parser.values[at])) fail("a bad value", text);
            last = index;
        }
    }
}

// A copy of exactly the right size, so that reading one byte too far is seen.
template <class Parser>
std::int64_t feed_exact(Parser& parser, const char* text, std::size_t n, bool last, int threads) {
    std::unique_ptr<char[]> copy(new char[n]);
    if (n > 0) std::memcpy(copy.get(), text, n);
    return parser.feed(copy.get(), static_cast<std::int64_t>(n), last, threads);
}

template <class Parser>
void feed_in_blocks(Parser& parser, const Text& text, std::size_t block, int threads) {
    std::size_t done = 0, filled = 0;
    while (true) {
        filled = std::min(filled + block, text.size());
        const bool last = filled == text.size();
        done += static_cast<std::size_t>(feed_exact(parser, text.data() + done, filled - done, last, threads));
        if (last || parser.fault) return;
    }
}

template <class Value>
bool read_both_ways(const Text& text, Random& random) {
    using Parser = pairsift::SvmlightParser<Value>;
    IndexLimits limits;
    if (random.below(4) == 0) limits.least = 1;
    if (random.below(4) == 0) limits.most = 1 + static_cast<std::int64_t>(random.below(100));
    Parser whole(limits, 1 << 18), cut(limits, 1);
    feed_exact(whole, text.data(), text.size(), true, 1);
    const int threads = random.below(kThreadsEvery) == 0 ? 2 + static_cast<int>(random.below(3)) : 1;
    feed_in_blocks(cut, text, 1 + random.below(text.size() + 8), threads);
    check_rows(whole, text);
    if (!same(whole, cut)) fail("blocks or threads change the result", text);
    return !whole.fault;
}

int fuzz_inputs(long count, std::uint64_t seed, const std::vector<Text>& corpus) {
    Random random{seed};
    long good = 0;
    for (const Text& text : corpus) read_both_ways<double>(text, random);
    for (long k = 0; k < count; ++k) {
        Text text = corpus[random.below(corpus.size())];
        mutate(text, corpus, random);
        good += random.below(4) == 0 ? read_both_ways<float>(text, random) : read_both_ways<double>(text, random);
    }
    std::printf("%ld mutated inputs, %ld of them well formed, no finding\n", count, good);
    return 0;
}

Text random_number(Random& random) {
    Text text;
    auto add_digits = [&](std::size_t most) {
        for (std::size_t k = random.below(most); k > 0; --k) text += static_cast<char>('0' + random.below(10));
    };
    add_digits(random.below(8) == 0 ? 40 : 8);
    if (random.below(4) != 0) {
        text += '.';
        add_digits(random.below(8) == 0 ? 900 : 20);
    }
    if (random.below(3) == 0) text += "e" + std::to_string(static_cast<int>(random.below(700)) - 350);
    return text;
}

int fuzz_numbers(long count, std::uint64_t seed) {
    Random random{seed};
    for (long k = 0; k < count; ++k) {
        const Text text = random_number(random);
        const pairsift::Number number = pairsift::read_number(text.data(), text.data() + text.size());
        char* end = nullptr;
        const double expected = std::strtod(text.c_str(), &end);
        const bool valid = end != text.c_str();
        if (valid != (number.fault == pairsift::NumberFault::none || number.fault == pairsift::NumberFault::too_large))
            fail("a number is taken for none, or the reverse", text);
        if (!valid) continue;
        if (std::isinf(expected) != (number.fault == pairsift::NumberFault::too_large)) fail("overflow is missed", text);
        if (number.fault == pairsift::NumberFault::none && std::memcmp(&number.value, &expected, sizeof expected) != 0)
            fail("a number is not correctly rounded", text);
        if (number.fault == pairsift::NumberFault::none && number.next - text.data() != end - text.c_str())
            fail("reading stopped at another place", text);
    }
    std::printf("%ld numbers equal strtod's\n", count);
    return 0;
}

int read_long_line(std::size_t bytes) {
    Text text = "1";
    std::int64_t index = 0;
    while (text.size() < bytes) text += ' ' + std::to_string(++index) + ":0.5";
    for (const bool faulty : {false, true}) {
        if (faulty) text += " 1:1";
        pairsift::SvmlightParser<double> parser({}, 1 << 18);
        feed_in_blocks(parser, text, bytes / 3 + 1, 2);
        check_rows(parser, "(a long line)");
        const auto column = static_cast<std::int64_t>(text.size()) - 2;
        if (faulty ? parser.fault.place.column != column : static_cast<std::int64_t>(parser.values.size()) != index)
            fail("a long line is read wrongly", "");
    }
    std::printf("a line of %zu bytes: %lld values, no finding\n", text.size(), static_cast<long long>(index));
    return 0;
}

}  // namespace

#ifdef PAIRSIFT_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Text text(reinterpret_cast<const char*>(data), size);
    std::uint64_t seed = 1469598103934665603u;  // of the input alone: what it finds can be found again
    for (unsigned char byte : text) seed = (seed ^ byte) * 1099511628211u;
    Random random{seed};
    if (random.below(4) == 0)
        read_both_ways<float>(text, random);
    else
        read_both_ways<double>(text, random);
    return 0;
}
#else
int main(int argc, char** argv) {
    const Text mode = argc > 1 ? argv[1] : "";
    if (mode == "line" && argc == 3) return read_long_line(std::strtoull(argv[2], nullptr, 10));
    if (argc < 4) return 2;
    const long count = std::strtol(argv[2], nullptr, 10);
    const std::uint64_t seed = std::strtoull(argv[3], nullptr, 10);
    if (mode == "numbers") return fuzz_numbers(count, seed);
    std::vector<Text> corpus;
    for (int k = 4; k < argc; ++k) {
        std::ifstream file(argv[k], std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    if (mode != "inputs" || corpus.empty()) return 2;
    return fuzz_inputs(count, seed, corpus);
}
#endif
