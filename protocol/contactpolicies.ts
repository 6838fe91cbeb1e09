/**
 * Who may begin to write to a person, most open first. A person chooses one; the server has a default. Whoever the person
 * has written to may always answer, unless one of the two blocks the other.
 */
export const CONTACT_POLICIES = ['everyone', 'shared_guild', 'friends', 'replied'] as const;
export type ContactPolicy = (typeof CONTACT_POLICIES)[number];
