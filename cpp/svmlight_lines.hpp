// The lines of svmlight / LIBSVM text, one run of whole lines at a time.
//
//   line   = label [" qid:" whole] {" " index ":" value} ["#" anything]
//   blank  = " " or tab, one or more; a line may end in LF or CRLF; lines that are blank or only a comment are no rows
//   index  = whole number, strictly ascending within a line
//   label, value = finite decimal numbers
//
// Any bytes are safe: reading never passes `end`, memory grows with the number of values in the text and never with
// the size of an index. The first fault ends the run and is kept with its line and column (both from 1, in bytes).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "decimal.hpp"
#include "growing.hpp"

namespace pairsift {

struct Place {
    std::int64_t line = 0;  // 0: nowhere
    std::int64_t column = 0;
    bool operator<(const Place& other) const {
        return line != other.line ? line < other.line : column < other.column;
    }
};

struct TextFault {
    Place place;
    std::string reason;
    std::string got;  // the bytes that were found there, printable
    explicit operator bool() const { return place.line != 0; }
};

inline TextFault qid_fault(Place place, bool here) {
    return {place, here ? "a qid here, but none on the rows before" : "no qid here, but one on the rows before", ""};
}

struct IndexLimits {
    std::int64_t least = 0;  // 1 when the text is known to count from one
    std::int64_t most = INT64_MAX;
};

// Up to 24 bytes of the word at p, with unprintable bytes as \xNN.
inline std::string excerpt(const char* p, const char* end) {
    std::string text;
    const char* start = p;
    for (; p < end && *p != '\n' && *p != ' ' && *p != '\t'; ++p) {
        if (p - start == 24) return text + "...";
        const auto byte = static_cast<unsigned char>(*p);
        char escaped[5] = {*p, 0, 0, 0, 0};
        if (byte < 0x20 || byte > 0x7e) std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
        text += escaped;
    }
    return text;
}

template <class Value>
class LineRun {
   public:
    Growing<Value> values;
    Growing<std::int64_t> columns;  // as written
    Growing<std::int64_t> ends;     // per row: how many values up to and with it
    Growing<double> labels;
    Growing<std::int64_t> qids;
    std::int64_t lines = 0;  // line ends seen
    std::int64_t min_index = INT64_MAX, max_index = -1;
    Place max_place;    // where max_index was first seen
    Place first_label;  // the place after the first row's label, where its qid is or is missing
    bool has_qid = false;
    TextFault fault;

    void read(const char* begin, const char* end, const IndexLimits& limits) {
        clear();
        limits_ = limits;
        end_ = end;
        p_ = line_start_ = begin;
        while (p_ < end_ && read_line()) {
        }
    }

   private:
    void clear() {
        values.clear(), columns.clear(), ends.clear(), labels.clear(), qids.clear();
        lines = 0, min_index = INT64_MAX, max_index = -1, has_qid = false;
        max_place = first_label = Place();
        fault = TextFault();
    }

    Place place(const char* at) const { return {lines + 1, at - line_start_ + 1}; }

    bool refuse(const char* at, std::string reason) {
        fault = {place(at), std::move(reason), excerpt(at, end_)};
        return false;
    }

    bool read_line() {
        skip_blanks();
        if (at_line_end()) return end_line();
        double label;
        if (!read_value(label, "the label")) return false;
        if (!at_word_end()) return refuse(p_, "the label must be one number, followed by a blank");
        skip_blanks();
        if (!read_qid()) return false;
        if (!read_features()) return false;
        labels.push(label);
        ends.push(static_cast<std::int64_t>(values.size()));
        return end_line();
    }

    bool read_features() {
        std::int64_t last = -1;
        const char* last_at = p_;
        for (; !at_line_end(); skip_blanks()) {
            const char* at = p_;
            const Whole index = read_whole(p_, end_);
            if (index.next == p_) return refuse_feature();
            if (index.next == end_ || *index.next != ':') return refuse(at, "a feature must be written index:value");
            if (!index.fits) return refuse(at, "the index is beyond 2^63 - 2");
            if (index.value <= last) return refuse_order(at, index.value, last);
            if (index.value < limits_.least)
                return refuse(at, "index 0, but the text was said to count from 1 (zero_based=False)");
            if (index.value > limits_.most) return refuse(at, "the index is beyond n_features");
            p_ = index.next + 1;
            double value;
            if (!read_value(value, "the value")) return false;
            if (!at_word_end()) return refuse(p_, "the value must be one number, followed by a blank");
            const auto stored = static_cast<Value>(value);
            if (!std::isfinite(stored)) return refuse(index.next + 1, "the value is too large for the dtype asked for");
            if (last < 0 && index.value < min_index) min_index = index.value;
            columns.push(index.value);
            values.push(stored);
            last = index.value;
            last_at = at;
        }
        if (last > max_index) max_index = last, max_place = place(last_at);
        return true;
    }

    bool read_qid() {
        const bool here = end_ - p_ >= 4 && std::memcmp(p_, "qid:", 4) == 0;
        if (first_label.line == 0) first_label = place(p_), has_qid = here;
        if (here != has_qid) {
            fault = qid_fault(place(p_), here);
            return false;
        }
        if (!here) return true;
        const char* at = p_;
        const Whole qid = read_whole(p_ + 4, end_);
        p_ = qid.next;
        if (qid.next == at + 4 || !at_word_end() || !qid.fits)
            return refuse(at, "qid: must be followed by a whole number below 2^63 - 1");
        qids.push(qid.value);
        skip_blanks();
        return true;
    }

    bool read_value(double& value /* out */, const char* what) {
        const Number number = read_number(p_, end_);
        value = number.value;
        switch (number.fault) {
            case NumberFault::none: break;
            case NumberFault::not_a_number: return refuse(p_, std::string(what) + " is not a number");
            case NumberFault::not_finite: return refuse(p_, std::string(what) + " is not a finite number");
            case NumberFault::too_large: return refuse(p_, std::string(what) + " is too large for a 64-bit float");
        }
        p_ = number.next;
        return true;
    }

    bool refuse_feature() {
        if (*p_ == '\r') return refuse(p_, "a carriage return that does not end the line");
        if (*p_ == 'q') return refuse(p_, "qid: must come once, right after the label");
        if (*p_ == '-') return refuse(p_, "the index is negative");
        return refuse(p_, "a feature must be written index:value, the index a whole number");
    }

    bool refuse_order(const char* at, std::int64_t index, std::int64_t last) {
        return refuse(at, "indices must be strictly ascending within a line, but " + std::to_string(index) + " follows " +
                              std::to_string(last));
    }

    void skip_blanks() {
        while (p_ < end_ && (*p_ == ' ' || *p_ == '\t')) ++p_;
    }

    // LF, CRLF, a comment or the end of the text. A run ends after a line end or where the text ends.
    bool at_line_end() const {
        if (p_ == end_ || *p_ == '\n' || *p_ == '#') return true;
        return *p_ == '\r' && (p_ + 1 == end_ || p_[1] == '\n');
    }

    bool at_word_end() const { return (p_ < end_ && (*p_ == ' ' || *p_ == '\t')) || at_line_end(); }

    bool end_line() {
        if (p_ < end_ && *p_ == '\r') ++p_;
        if (p_ < end_ && *p_ == '#') {
            const void* found = std::memchr(p_, '\n', static_cast<std::size_t>(end_ - p_));
            p_ = found ? static_cast<const char*>(found) : end_;
        }
        if (p_ < end_) {
            ++p_;
            ++lines;
        }
        line_start_ = p_;
        return true;
    }

    const char* p_ = nullptr;
    const char* end_ = nullptr;
    const char* line_start_ = nullptr;
    IndexLimits limits_;
};

}  // namespace pairsift
