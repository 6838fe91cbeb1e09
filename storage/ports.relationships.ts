/** Who is whose friend, by user. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by its owner.
export interface RelationshipStore {}
