"""The names of `t2ibench.plugins`, each once and by what it is for; see `plugins.py`."""

# ruff: noqa: I001  (the groups below say what names are for)

# Every part: what registers it and makes it, its arguments, and its errors.
from t2ibench.models.adapter import (
    Adapter as Adapter,
    Request as Request,
)
from t2ibench.arguments import (
    Arguments as Arguments,
    NotNegative as NotNegative,
    PositiveInt as PositiveInt,
    Share as Share,
)
from t2ibench.registry import LazyModule as LazyModule
from t2ibench.errors import (
    MissingEvidence as MissingEvidence,
    T2IBenchError as T2IBenchError,
)
from t2ibench.settings import Settings as Settings
from t2ibench.arrays import (
    BoolArray as BoolArray,
    Float32Array as Float32Array,
    Float64Array as Float64Array,
    IntArray as IntArray,
)

# A method: how it is put together, its task files, and what is wrong with them.
from t2ibench.methods.core.method import (
    MainScore as MainScore,
    Method as Method,
)
from t2ibench.methods.core.publication import Publication as Publication
from t2ibench.methods.core.schema import (
    BaseTask as BaseTask,
    Concept as Concept,
    Identifier as Identifier,
    ImageTask as ImageTask,
    Line as Line,
    Text as Text,
    WordGroup as WordGroup,
    Words as Words,
)
from t2ibench.methods.core import checks as checks
from t2ibench.methods.core.checks import Finding as Finding

# A method: the evidence that it needs, and gets.
from t2ibench.methods.core.evidence import (
    UNKNOWN as UNKNOWN,
    AnswerEvidence as AnswerEvidence,
    Evidence as Evidence,
    ImageEvidence as ImageEvidence,
    Needs as Needs,
    PromptNeed as PromptNeed,
    QuestionNeed as QuestionNeed,
)
from t2ibench.methods.core.image_collector import ImageCollector as ImageCollector
from t2ibench.methods.core.prompt_images import PromptImages as PromptImages

# A method: what it finds, and how sure that is.
from t2ibench.methods.core.estimate import (
    Estimate as Estimate,
    Item as Item,
    MethodResult as MethodResult,
)
from t2ibench.methods.core.headline import (
    Control as Control,
    HeadlineEstimate as HeadlineEstimate,
    Part as Part,
    average_headlines as average_headlines,
    contradiction as contradiction,
    lean_headline as lean_headline,
    square_headline as square_headline,
)
from t2ibench.methods.core.inference import (
    HeadlineInference as HeadlineInference,
    Inference as Inference,
    fair_band as fair_band,
    t_inference as t_inference,
)
from t2ibench.methods.core.influence import Influence as Influence
from t2ibench.methods.core.scales import Scale as Scale

# A method: how pages show it, with the figures that there are.
from t2ibench.methods.core.presentation import (
    Apart as Apart,
    Arrows as Arrows,
    Axis as Axis,
    Bars as Bars,
    Combinations as Combinations,
    Distribution as Distribution,
    Figure as Figure,
    ImageGroups as ImageGroups,
    ImageSeries as ImageSeries,
    Panel as Panel,
    Panels as Panels,
    Presentation as Presentation,
    Quantity as Quantity,
    RowSeries as RowSeries,
    Scatter as Scatter,
)

# A method: whether it keeps the contract, for tests.
from t2ibench.methods.core.contract import (
    check_method as check_method,
)
from t2ibench.methods.core.synthetic_evidence import (
    SyntheticEvidence as SyntheticEvidence,
)

# A generator, an encoder or a judge: the members that it has, and those that it may have.
from t2ibench.models.protocols import (
    Answer as Answer,
    AnswersInParts as AnswersInParts,
    Charges as Charges,
    ChecksAccess as ChecksAccess,
    DescribesNetwork as DescribesNetwork,
    EditsImages as EditsImages,
    Encoder as Encoder,
    GeneratedImage as GeneratedImage,
    GeneratesInParts as GeneratesInParts,
    Generator as Generator,
    HasNotes as HasNotes,
    HasPrice as HasPrice,
    HasUntrained as HasUntrained,
    ImageRequest as ImageRequest,
    Judge as Judge,
    LooksUp as LooksUp,
    MakesTrials as MakesTrials,
    Query as Query,
    Releasable as Releasable,
    ReportsSettings as ReportsSettings,
    ReportsUnread as ReportsUnread,
    ReportsWaits as ReportsWaits,
    TowerReading as TowerReading,
)
from t2ibench.store.images import ImageFile as ImageFile
from t2ibench.store.image_headers import UnreadableImageError as UnreadableImageError
from t2ibench.models.fingerprint import fingerprint as fingerprint
from t2ibench.models.downloads import Download as Download
from t2ibench.models.generators import create_generator as create_generator

# A model or a judge behind an API.
from t2ibench.models.generators.hosted import (
    EditCall as EditCall,
    HostedArguments as HostedArguments,
    HostedGenerator as HostedGenerator,
)
from t2ibench.models.generators.sources import (
    SourceFile as SourceFile,
    read_source as read_source,
)
from t2ibench.models.servers import (
    Failure as Failure,
    OpenAiServer as OpenAiServer,
    Server as Server,
    ServerArguments as ServerArguments,
    checked_address as checked_address,
)
from t2ibench.models.server_errors import (
    BadReplyError as BadReplyError,
    Reply as Reply,
    ServerAwayError as ServerAwayError,
    UnusableServerError as UnusableServerError,
)
from t2ibench.models.api_key import ApiKey as ApiKey

from t2ibench.models.http import BoundedClient as BoundedClient
from t2ibench.models.proxies import ask_loopback_directly as ask_loopback_directly

# A model or a judge: whether it keeps the contract, for tests.
from t2ibench.models.contract import (
    check_encoder as check_encoder,
    check_generator as check_generator,
    check_judge as check_judge,
)

# A proposer or a rewriter.
from t2ibench.models.language import (
    ChecksPrompts as ChecksPrompts,
    Message as Message,
    Per as Per,
    Proposer as Proposer,
    Rewriter as Rewriter,
    RewriteRequest as RewriteRequest,
    RewritesInParts as RewritesInParts,
    Rewriting as Rewriting,
)

# A figure: what draws it.
from t2ibench.reports.figures.figure import (
    DrawnFigure as DrawnFigure,
    Samples as Samples,
    canvas_of as canvas_of,
    finished as finished,
)
from t2ibench.reports.figures.canvas import Canvas as Canvas
from t2ibench.reports.figures.text_size import (
    left_of as left_of,
    row_places as row_places,
)
from t2ibench.reports.figures.axes import (
    PixelScale as PixelScale,
    draw_ticks as draw_ticks,
)
from t2ibench.reports.view import TaskView as TaskView

# A writer or a destination, and the results that they get.
from t2ibench.reports.writers import (
    Table as Table,
    Writer as Writer,
)
from t2ibench.reports.destinations import Destination as Destination
from t2ibench.reports.destinations.payload import Payload as Payload
from t2ibench.results.schema import (
    Results as Results,
    TaskResult as TaskResult,
)
