// Decimal numbers in text, exactly: every finite double comes out correctly rounded, as Python's float() gives it.
//
// Short numbers (at most 18 digits whose integer is below 2^53, no exponent) take one division: the integer and 10^k for
// k <= 22 are both doubles, so the one rounding is the right one. All others go to std::from_chars, which takes no
// locale and no leading '+', and which would also take "nan" and "inf": those never get there.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <system_error>
#if !defined(__cpp_lib_to_chars) || defined(PAIRSIFT_NO_FROM_CHARS)
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#endif

namespace pairsift {

enum class NumberFault { none, not_a_number, not_finite, too_large };

struct Number {
    double value;
    const char* next;  // where reading stopped
    NumberFault fault;
};

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

inline bool is_nan_or_inf(const char* p, const char* end) {
    if (end - p < 3) return false;
    const char word[] = {static_cast<char>(p[0] | 0x20), static_cast<char>(p[1] | 0x20), static_cast<char>(p[2] | 0x20)};
    return std::memcmp(word, "nan", 3) == 0 || std::memcmp(word, "inf", 3) == 0;
}

// Whether |digits| * 10^exponent of a well-formed number out of range is too large (rather than too small): the sign of
// the decimal exponent of its first digit that is not zero. Saturates, because an exponent may have any length.
inline bool is_beyond_range(const char* p, const char* end) {
    constexpr std::int64_t limit = std::int64_t(1) << 61;
    std::int64_t position = 0;  // of the first nonzero digit: 123 -> 3, 0.01 -> -1
    bool seen = false, point = false;
    for (; p < end && (is_digit(*p) || *p == '.'); ++p) {
        if (*p == '.') {
            if (point) break;
            point = true;
        } else if (!seen && *p == '0') {
            position -= point;
        } else {
            seen = true;
            position += !point;
        }
    }
    std::int64_t exponent = 0;
    bool negative = false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        ++p;
        if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
        for (; p < end && is_digit(*p); ++p)
            if (exponent < limit / 16) exponent = exponent * 10 + (*p - '0');
    }
    return position + (negative ? -exponent : exponent) > 0;
}

#if defined(__cpp_lib_to_chars) && !defined(PAIRSIFT_NO_FROM_CHARS)
inline Number read_long_number(const char* p, const char* end) {
    double value = 0;
    const auto [next, error] = std::from_chars(p, end, value);
    if (error == std::errc::invalid_argument) return {0, p, NumberFault::not_a_number};
    if (error == std::errc::result_out_of_range) value = is_beyond_range(p, end) ? HUGE_VAL : 0.0;
    return {value, next, std::isfinite(value) ? NumberFault::none : NumberFault::too_large};
}
#else
// For standard libraries that cannot read doubles with from_chars: slower, same results.
inline Number read_long_number(const char* p, const char* end) {
    const char* stop = p;
    while (stop < end && (is_digit(*stop) || *stop == '.')) ++stop;
    if (stop < end && (*stop == 'e' || *stop == 'E')) {
        const char* digits = stop + 1;
        if (digits < end && (*digits == '-' || *digits == '+')) ++digits;
        if (digits < end && is_digit(*digits)) {
            while (digits < end && is_digit(*digits)) ++digits;
            stop = digits;
        }
    }
    std::istringstream text{std::string(p, stop)};
    text.imbue(std::locale::classic());
    double value = 0;
    text >> value;
    if (std::fabs(value) >= std::numeric_limits<double>::max() && is_beyond_range(p, stop) && text.fail()) value = HUGE_VAL;
    return {value, stop, std::isfinite(value) ? NumberFault::none : NumberFault::too_large};
}
#endif

// The number at p: optional sign, digits with an optional point, optional exponent.
inline Number read_number(const char* p, const char* end) {
    static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char* start = p;
    const bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    const char* unsigned_start = p;
    std::uint64_t integer = 0;
    while (p < end && is_digit(*p)) integer = integer * 10 + static_cast<unsigned>(*p++ - '0');
    std::int64_t digits = p - unsigned_start, decimals = 0;
    if (p < end && *p == '.') {
        const char* point = p++;
        while (p < end && is_digit(*p)) integer = integer * 10 + static_cast<unsigned>(*p++ - '0');
        decimals = p - point - 1;
        digits += decimals;
    }
    if (digits == 0)
        return {0, start, is_nan_or_inf(unsigned_start, end) ? NumberFault::not_finite : NumberFault::not_a_number};
    const bool has_exponent = p < end && (*p == 'e' || *p == 'E');
    if (digits > 18 || integer >= (std::uint64_t(1) << 53) || has_exponent) {
        Number number = read_long_number(unsigned_start, end);
        if (negative) number.value = -number.value;
        return number;
    }
    const double value = static_cast<double>(integer) / powers[decimals];
    return {negative ? -value : value, p, NumberFault::none};
}

struct Whole {
    std::int64_t value;
    const char* next;  // the start when there is no digit
    bool fits;         // at most 2^63 - 2, so that value + 1 fits as well
};

// The digits at p as a whole number.
inline Whole read_whole(const char* p, const char* end) {
    constexpr std::uint64_t most = (std::uint64_t(1) << 63) - 2;
    std::uint64_t value = 0;
    bool fits = true;
    for (; p < end && is_digit(*p); ++p) {
        const auto digit = static_cast<unsigned>(*p - '0');
        fits = fits && value <= (most - digit) / 10;
        if (fits) value = value * 10 + digit;
    }
    return {static_cast<std::int64_t>(value), p, fits};
}

}  // namespace pairsift
