import { resource } from '../operation.ts';

export const directMessages = resource({});

export const directMessagesUnlisted = resource({});
