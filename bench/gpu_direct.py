# SPDX-License-Identifier: Apache-2.0
"""What a GPU does without weft: copies by the driver, products by cuBLASLt, both
called through ctypes; nothing but the libraries is needed."""
import ctypes
import statistics
import time
from ctypes import byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p

F32, BF16, SUMS_F32, BYTES = 0, 14, 68, {0: 4, 14: 2}  # cudaDataType_t, CUBLAS_COMPUTE_32F
WORKSPACE = 32 << 20


class Failure(Exception):
    pass


class Library:
    """Functions that return 0, or fail by name."""

    def __init__(self, *names):
        for name in names:
            try:
                self.handle = ctypes.CDLL(name)
                return
            except OSError as error:
                why = error
        raise Failure(str(why))

    def __getattr__(self, function):
        call = getattr(self.handle, function)

        def checked(*arguments):
            if result := call(*arguments):
                raise Failure(f"{function} answers {result}")

        return checked


class Gpu:
    """The first GPU, with a stream."""

    def __init__(self):
        self.driver = Library("libcuda.so.1")
        self.driver.cuInit(0)
        self.device, self.context, self.stream = c_int(), c_void_p(), c_void_p()
        self.driver.cuDeviceGet(byref(self.device), 0)
        self.driver.cuDevicePrimaryCtxRetain(byref(self.context), self.device)
        self.driver.cuCtxPushCurrent_v2(self.context)
        self.driver.cuStreamCreate(byref(self.stream), 1)

    def describe(self):
        name, version, count = ctypes.create_string_buffer(256), c_int(), c_int()
        free, total = c_size_t(), c_size_t()
        major, minor = c_int(), c_int()
        self.driver.cuDeviceGetName(name, 255, self.device)
        self.driver.cuDriverGetVersion(byref(version))
        self.driver.cuDeviceGetCount(byref(count))
        self.driver.cuMemGetInfo_v2(byref(free), byref(total))
        self.driver.cuDeviceGetAttribute(byref(major), 75, self.device)
        self.driver.cuDeviceGetAttribute(byref(minor), 76, self.device)
        return {"name": name.value.decode(), "driver": version.value, "gpus": count.value,
                "memory_bytes": total.value, "free_bytes": free.value,
                "architecture": f"sm_{major.value}{minor.value}"}

    def allocate(self, size):
        place = c_uint64()
        self.driver.cuMemAlloc_v2(byref(place), c_size_t(size))
        self.driver.cuMemsetD8Async(place, 0, c_size_t(size), self.stream)
        return place

    def fill(self, place, size, block):
        """Repeats a block up to the end, which is one of its own or not."""
        self.driver.cuMemcpyHtoDAsync_v2(place, block, c_size_t(len(block)), self.stream)
        there = len(block)
        while there < size:
            more = min(there, size - there)
            self.driver.cuMemcpyDtoDAsync_v2(c_uint64(place.value + there), place, c_size_t(more),
                                             self.stream)
            there += more
        self.wait()

    def wait(self):
        while (result := self.driver.handle.cuStreamQuery(self.stream)) == 600:
            pass
        if result:
            raise Failure(f"cuStreamQuery answers {result}")

    def seconds(self, work, repeats):
        """The median of some runs of so many calls, each call's part of it."""
        times = []
        for _ in range(5):
            self.wait()
            begin = time.perf_counter()
            for _ in range(repeats):
                work()
            self.wait()
            times.append((time.perf_counter() - begin) / repeats)
        return statistics.median(times)


def copy_bandwidth(gpu, size):
    """Bytes a second that are read and written together."""
    source, target = gpu.allocate(size), gpu.allocate(size)
    seconds = gpu.seconds(lambda: gpu.driver.cuMemcpyDtoDAsync_v2(
        target, source, c_size_t(size), gpu.stream), 20)
    for place in (source, target):
        gpu.driver.cuMemFree_v2(place)
    return 2 * size / seconds


def product_seconds(gpu, m, n, k, data_type):
    """C = A B, row by row: for the library, which counts by columns, C' = B' A'."""
    lt = Library("libcublasLt.so.13", "libcublasLt.so.12")
    context, operation, preference = c_void_p(), c_void_p(), c_void_p()
    lt.cublasLtCreate(byref(context))
    lt.cublasLtMatmulDescCreate(byref(operation), SUMS_F32, F32)
    layouts = []
    for rows, columns in ((n, k), (k, m), (n, m)):
        layouts.append(c_void_p())
        lt.cublasLtMatrixLayoutCreate(byref(layouts[-1]), data_type, c_uint64(rows),
                                      c_uint64(columns), c_int64(rows))
    lt.cublasLtMatmulPreferenceCreate(byref(preference))
    settings = {1: c_uint64(WORKSPACE), 3: c_int32(0), 5: c_int32(256)}
    for attribute, value in settings.items():  # workspace, no split of K, alignment
        lt.cublasLtMatmulPreferenceSetAttribute(preference, attribute, byref(value),
                                                c_size_t(ctypes.sizeof(value)))
    found, count = (c_uint64 * 16)(), c_int()  # the algorithm is in front
    b, a, c = layouts
    lt.cublasLtMatmulAlgoGetHeuristic(context, operation, b, a, c, c, preference, 1, found,
                                      byref(count))
    if not count.value:
        raise Failure("cuBLASLt has no algorithm")
    size = BYTES[data_type]
    places = [gpu.allocate(s * size) for s in (m * k, k * n, m * n)] + [gpu.allocate(WORKSPACE)]
    in_a, in_b, out, space = (c_void_p(place.value) for place in places)
    one, zero = c_float(1), c_float(0)

    def multiply():
        lt.cublasLtMatmul(context, operation, byref(one), in_b, b, in_a, a, byref(zero), out, c,
                          out, c, found, space, c_size_t(WORKSPACE), gpu.stream)

    seconds = gpu.seconds(multiply, 10)
    for place in places:
        gpu.driver.cuMemFree_v2(place)
    return seconds
