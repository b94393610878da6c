"""The containers of rewritten models: stacks of equal layers, applied by a scan. Needs only jax and equinox."""

from scanify.nn.array_stacked import ArrayStacked as ArrayStacked
from scanify.nn.block_seq import BlockSeq as BlockSeq
from scanify.nn.checks.check_layers import check_layers as check_layers
from scanify.nn.functional import fold as fold
from scanify.nn.functional import map as map
from scanify.nn.functional import scan as scan
from scanify.nn.load_unstacked import load_unstacked as load_unstacked
from scanify.nn.members_first import members_first as members_first
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy as ScanCheckpointPolicy
from scanify.nn.scans.checkpoint import remat_policy_override as remat_policy_override
from scanify.nn.scans.checkpoint import tree_checkpoint_name as tree_checkpoint_name
from scanify.nn.state_dict import from_state_dict as from_state_dict
from scanify.nn.state_dict import to_state_dict as to_state_dict
