/** A bounded number at a time: the next slice begins when every one of the last is done. Rejects with the first failure. */
export async function inSlices<T>(
  items: readonly T[],
  { atOnce }: { readonly atOnce: number },
  work: (item: T) => Promise<void>,
): Promise<void> {
  for (let first = 0; first < items.length; first += atOnce)
    await Promise.all(items.slice(first, first + atOnce).map(work));
}
