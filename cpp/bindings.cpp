// Where C++ meets Python: binding files unpack arrays, release the GIL and call a kernel; kernels know nothing of Python.
#include "bindings.hpp"

NB_MODULE(_core, m) {
    pairsift::bind_build(m);
    pairsift::bind_file_reads(m);
    pairsift::bind_rows(m);
    pairsift::bind_all_pairs(m);
    pairsift::bind_svmlight(m);
}
