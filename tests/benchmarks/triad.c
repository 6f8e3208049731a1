/* A STREAM-like triad in C for comparison: a[i] = b[i] + q * c[i], with non-temporal stores where the CPU has them.
 *
 * triad ELEMENTS REPETITIONS    prints the best and the median rate in byte/s, three doubles an element.
 * Threads as OpenMP is told by its environment. Built by tests/benchmarks/peers.py.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define HUGE_PAGE ((size_t)2 << 20)

static double *room(size_t elements)
{
    size_t bytes = (elements * sizeof(double) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *memory = aligned_alloc(HUGE_PAGE, bytes);
    if (!memory) {
        fprintf(stderr, "no memory for %zu elements\n", elements);
        exit(1);
    }
#if defined(MADV_HUGEPAGE)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

static void triad(double *a, const double *b, const double *c, double q, size_t from, size_t to)
{
    size_t i = from;
#if defined(__AVX512F__)
    for (__m512d factor = _mm512_set1_pd(q); i + 8 <= to; i += 8)
        _mm512_stream_pd(a + i, _mm512_fmadd_pd(_mm512_load_pd(c + i), factor, _mm512_load_pd(b + i)));
#elif defined(__AVX__)
    for (__m256d factor = _mm256_set1_pd(q); i + 4 <= to; i += 4)
        _mm256_stream_pd(a + i, _mm256_add_pd(_mm256_mul_pd(_mm256_load_pd(c + i), factor), _mm256_load_pd(b + i)));
#elif defined(__SSE2__)
    for (__m128d factor = _mm_set1_pd(q); i + 2 <= to; i += 2)
        _mm_stream_pd(a + i, _mm_add_pd(_mm_mul_pd(_mm_load_pd(c + i), factor), _mm_load_pd(b + i)));
#endif
    for (; i < to; i++)
        a[i] = b[i] + q * c[i];
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

static int by_size(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    size_t elements = strtoull(words[1], NULL, 10) / 64 * 64;
    int repetitions = atoi(words[2]);
    double *a = room(elements), *b = room(elements), *c = room(elements);
    double *seconds = calloc(repetitions, sizeof *seconds);
    double q = count; /* 3, and not known when this is compiled */
    for (int repetition = -2; repetition < repetitions; repetition++) {
        double start = omp_get_wtime();
#pragma omp parallel
        {
            /* Shares of whole 64 elements, so that each begins at a line. */
            size_t groups = elements / 64, thread = omp_get_thread_num(), threads = omp_get_num_threads();
            size_t from = groups * thread / threads * 64, to = groups * (thread + 1) / threads * 64;
            if (repetition == -2)
                for (size_t i = from; i < to; i++) {
                    a[i] = 0.5;
                    b[i] = 2.0;
                    c[i] = 1.0 + i % 7;
                }
            else
                triad(a, b, c, q, from, to);
        }
        if (repetition >= 0)
            seconds[repetition] = omp_get_wtime() - start;
    }
    for (size_t i = 0; i < elements; i++)
        if (a[i] != 2.0 + q * (1.0 + i % 7)) {
            fprintf(stderr, "element %zu is wrong\n", i);
            return 1;
        }
    qsort(seconds, repetitions, sizeof *seconds, by_size);
    double bytes = 3.0 * sizeof(double) * elements;
    printf("%.6g %.6g\n", bytes / seconds[0], bytes / seconds[repetitions / 2]);
    return 0;
}
