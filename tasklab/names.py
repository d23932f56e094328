"""The public names. `tasklab` provides them and loads this module at the first use of one."""

from chaos.environment import ProcessSpec as ProcessSpec
from chaos.environment import ServiceName as ServiceName
from chaos.environment import Services as Services
from scenarios.contract.system import Account as Account
from scenarios.contract.system import Accountable as Accountable
from scenarios.contract.system import Addressed as Addressed
from scenarios.contract.system import Audited as Audited
from scenarios.contract.system import Bounded as Bounded
from scenarios.contract.system import Cancel as Cancel
from scenarios.contract.system import Client as Client
from scenarios.contract.system import Embeddable as Embeddable
from scenarios.contract.system import Handlers as Handlers
from scenarios.contract.system import Operation as Operation
from scenarios.contract.system import Outcome as Outcome
from scenarios.contract.system import Pace as Pace
from scenarios.contract.system import Paced as Paced
from scenarios.contract.system import Policy as Policy
from scenarios.contract.system import ReadStatus as ReadStatus
from scenarios.contract.system import Reserving as Reserving
from scenarios.contract.system import Submit as Submit
from scenarios.contract.system import System as System
from scenarios.judging.guarantees import Guarantee as Guarantee
from scenarios.record.history import Event as Event
from scenarios.simulated.system import Simulable as Simulable
from scenarios.simulated.system import Simulation as Simulation
