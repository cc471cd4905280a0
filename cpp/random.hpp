// A small generator for the order of passes and for stochastic gradient: xoshiro256** (Blackman and Vigna 2018), seeded by
// splitmix64. Written here because the sequence of <random>'s distributions differs between standard libraries.
#pragma once

#include <cstdint>

namespace pairsift {

class Random {
public:
    explicit Random(std::uint64_t seed) {
        for (auto& word : state_) {
            seed += 0x9e3779b97f4a7c15ULL;
            std::uint64_t z = seed;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
            word = z ^ (z >> 31);
        }
    }

    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[1] * 5, 7) * 9, t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    // Uniform in 0 .. bound - 1 without bias (Lemire 2019), for 1 <= bound < 2^63.
    std::int64_t below(std::int64_t bound) {
        const auto range = static_cast<std::uint64_t>(bound);
        auto product = static_cast<unsigned __int128>(next()) * range;
        if (static_cast<std::uint64_t>(product) < range) {
            const std::uint64_t least = -range % range;
            while (static_cast<std::uint64_t>(product) < least) product = static_cast<unsigned __int128>(next()) * range;
        }
        return static_cast<std::int64_t>(product >> 64);
    }

    // Uniform in [0, 1), a multiple of 2^-53.
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

private:
    static std::uint64_t rotate(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
    std::uint64_t state_[4];
};

}  // namespace pairsift
