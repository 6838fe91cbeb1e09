/** Prepares the embedded databases once for a source tree, so that no test waits for the creation of one. */
import { prepare } from '../../storage/prepare.ts';

export default prepare;
