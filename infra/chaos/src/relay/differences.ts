/** Where two readers of one log saw something else. Pure. */

type IdsByPlace = ReadonlyMap<string, readonly string[]>;

/** One sentence for each partition in which our own reader saw other records than Apache's, or in another order. */
export function differences(apache: IdsByPlace, own: IdsByPlace): readonly string[] {
  const places = [...new Set([...apache.keys(), ...own.keys()])].toSorted();
  return places.flatMap((place) => {
    const [expected, seen] = [apache.get(place) ?? [], own.get(place) ?? []];
    const length = Math.max(expected.length, seen.length);
    const first = Array.from({ length }, (_, index) => index).find((index) => expected[index] !== seen[index]);
    if (first === undefined) return [];
    return [
      `of ${place} our own reader saw ${seen.length} records, Apache's ${expected.length}; the first that differs is number ${first + 1}: ${seen[first]} instead of ${expected[first]}`,
    ];
  });
}
