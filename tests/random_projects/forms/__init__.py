"""The forms of loops over layers."""

from tests.random_projects.forms.expressions import EXPRESSIONS
from tests.random_projects.forms.form import Form as Form
from tests.random_projects.forms.places import PLACES
from tests.random_projects.forms.states import STATES
from tests.random_projects.forms.walks import FOR as FOR
from tests.random_projects.forms.walks import WALKS

FORMS = (*WALKS, *EXPRESSIONS, *STATES, *PLACES)
