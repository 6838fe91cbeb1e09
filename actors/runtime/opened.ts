/** A part that exists only while it is open. @throws Error with the message while it is not. */
export function opened<T>(part: T | null, message: string): T {
  if (part === null) throw new Error(message);
  return part;
}

/** @throws Error with the message when the part is open already. */
export function notYetOpened(part: object | null, message: string): void {
  if (part !== null) throw new Error(message);
}
