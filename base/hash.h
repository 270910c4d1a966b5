/** \file base/hash.h
 * 64-bit hashes for fingerprints and maps. Those without a key are not cryptographic. Their values are
 * part of the file formats: they do not depend on the machine.
 */
#ifndef EMP_BASE_HASH_H
#define EMP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define EMP_HASH_SEED UINT64_C(0xcbf29ce484222325)

/** FNV-1a over bytes, continued from \a hash. */
uint64_t emp_hash_bytes(uint64_t hash, const void *bytes, size_t count);

/** SipHash-2-4 (Aumasson and Bernstein, 2012) of bytes under a key: who does not know the key cannot make
 * bytes whose hashes collide. For maps whose keys come from files. */
uint64_t emp_hash_keyed(const uint64_t key[2], const void *bytes, size_t count);

/** Mixes one word into \a hash; order matters. */
uint64_t emp_hash_u64(uint64_t hash, uint64_t word);

#endif /* EMP_BASE_HASH_H */
