import { resource } from '../operation.ts';

export const roleConnections = resource({});
