// An array of numbers that grows at its end and can be given away.
// std::vector copies when it grows and so needs twice its memory; realloc moves pages of large blocks instead of bytes
// (Linux), and the pages that are reserved but not yet written cost nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace pairsift {

// Says how much was asked for: Python makes a MemoryError of it, and the user can tell a wrong file from a small machine.
class NoMemory : public std::bad_alloc {
   public:
    explicit NoMemory(double bytes) { std::snprintf(text_, sizeof text_, "Unable to allocate %.1f MB", bytes / 1e6); }
    const char* what() const noexcept override { return text_; }

   private:
    char text_[64];
};

// The first exception of a thread needs a few bytes of its own, and the C library ends the process when it cannot have
// them; so they are asked for while there is memory.
inline void make_room_for_exceptions() { (void)std::uncaught_exceptions(); }

template <class T>
class Growing {
    static_assert(std::is_trivially_copyable_v<T>);

   public:
    Growing() = default;
    Growing(Growing&& other) noexcept { swap(other); }
    Growing& operator=(Growing&& other) noexcept {
        swap(other);
        return *this;
    }
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;
    ~Growing() { std::free(data_); }

    std::size_t size() const { return size_; }
    const T* data() const { return data_; }
    T* data() { return data_; }
    T operator[](std::size_t at) const { return data_[at]; }

    void clear() { size_ = 0; }

    void push(T value) {
        if (size_ == capacity_) reserve_more(1);
        data_[size_++] = value;
    }

    template <class U>
    void append(const U* values /* in */, std::size_t n) {
        if (n > capacity_ - size_) reserve_more(n);
        for (std::size_t k = 0; k < n; ++k) data_[size_ + k] = static_cast<T>(values[k]);
        size_ += n;
    }

    // Gives the memory away, cut to what is used; the owner calls std::free. Never null.
    T* release() {
        resize(std::max<std::size_t>(size_, 1));
        size_ = capacity_ = 0;
        return std::exchange(data_, nullptr);
    }

    void swap(Growing& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

   private:
    void reserve_more(std::size_t n) {
        constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / sizeof(T) / 4;
        if (n > most || capacity_ > most) throw NoMemory((static_cast<double>(size_) + static_cast<double>(n)) * sizeof(T));
        resize(std::max({size_ + n, capacity_ + capacity_ / 2, std::size_t(64)}));
    }

    void resize(std::size_t capacity) {
        void* moved = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
        if (moved == nullptr) throw NoMemory(static_cast<double>(capacity) * sizeof(T));
        data_ = static_cast<T*>(moved);
        capacity_ = capacity;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace pairsift
