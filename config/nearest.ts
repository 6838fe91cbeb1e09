const WORD_CHARS_MAX = 64;

/** The candidate closest to a misspelt word, ignoring case; null when none is close. Cost: O(candidates × word length²). */
export function nearest<Word extends string>(word: string, candidates: Iterable<Word>): Word | null {
  const wanted = word.slice(0, WORD_CHARS_MAX).toLowerCase();
  let best: { candidate: Word; distance: number } | null = null;
  for (const candidate of candidates) {
    const other = candidate.toLowerCase();
    const distance = other.startsWith(`${wanted}_`) ? 1 : editDistance(wanted, other);
    if (best === null || distance < best.distance) best = { candidate, distance };
  }
  return best !== null && best.distance <= Math.max(2, wanted.length / 3) ? best.candidate : null;
}

/** Levenshtein distance of two words. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
