"""Everything a run can be told, in one model, and how it is read."""

from t2ibench.settings.model import REPEATED as REPEATED
from t2ibench.settings.model import Flag as Flag
from t2ibench.settings.model import Measurement as Measurement
from t2ibench.settings.model import RunSettings as RunSettings
from t2ibench.settings.model import Settings as Settings
from t2ibench.settings.model import field_of as field_of
from t2ibench.settings.model import flag_names as flag_names
from t2ibench.settings.model import flags as flags
from t2ibench.settings.model import read_settings as read_settings
