/**
 * Policies for starting a conversation with a user, most open first. Each user chooses a policy; the server has a default. A
 * user may always answer somebody who has written to them, unless one of the two blocks the other.
 */
export const CONTACT_POLICIES = ['everyone', 'shared_guild', 'friends', 'replied'] as const;
export type ContactPolicy = (typeof CONTACT_POLICIES)[number];
