//! Programs that a plugin has compiled.

use farcall_host::Registry;
use farcall_ir::bounded;
use farcall_ir::verify::{StaticModule, entry, verify};
use farcall_ir::{Func, Literal, Module, TensorType, Type, stack, vhlo};
use farcall_pjrt_abi::*;

use super::buffer::ClientBuffer;
use super::client::{Client, ClientDevice};
use super::compile_options;
use super::error::PjrtError;
use super::handlers;
use super::owned::{Owned, no_handle, wait};

/// Name of the function that plugins run.
const ENTRY: &str = "main";

/// A program that a plugin has compiled for a device.
#[derive(Debug)]
pub struct LoadedProgram {
    handle: Owned<LoadedExecutableHandle>,
    inputs: Vec<TensorType>,
    num_outputs: usize,
    /// The results that carry the computed sizes of bounded dimensions.
    cuts: Vec<bounded::Cut>,
    device: ClientDevice,
    /// Keeps the client alive until the handle is freed.
    client: Client,
}

impl Client {
    /// Verifies a program, and compiles it for the first device. Handlers of its custom calls come from
    /// `registry`; calls without a target there are left to the plugin.
    ///
    /// # Errors
    /// The errors of the verifier; if the program has dynamic dimensions; the errors of
    /// [`compile_for`](Client::compile_for).
    pub fn compile(&self, module: &Module, registry: &Registry) -> Result<LoadedProgram, PjrtError> {
        let module = stack::with_room(|| verify(module)?.into_static())?;
        self.compile_for(&module, None, registry, self.first_device()?)
    }

    /// Compiles a function of a program for a device: `main` or the only public function, unless `name` names
    /// another one.
    ///
    /// # Errors
    /// If artifacts or the plugin's version of StableHLO cannot express the program, if the function has
    /// tokens as parameters or results, if a handler cannot be registered, or if the plugin refuses the
    /// program.
    pub fn compile_for(
        &self,
        module: &StaticModule<'_>,
        name: Option<&str>,
        registry: &Registry,
        device: &ClientDevice,
    ) -> Result<LoadedProgram, PjrtError> {
        self.require(device)?;
        let func = entry(module, name)?;
        let inputs = parameters(func)?;
        let cuts = bounded::cuts(func);
        let alone;
        let module: &Module = if is_only_entry(module, func) {
            module
        } else {
            alone = with_entry(module, func);
            &alone
        };
        let artifact = vhlo::write(module)?;
        self.plugin().require_stablehlo(artifact.version)?;
        handlers::register(self, device, module, registry)?;

        let (mut code, format) = (artifact.bytes, "mlir");
        let options = compile_options::for_device(device.id());
        let mut program = Program {
            struct_size: size_of::<Program>(),
            extension_start: std::ptr::null_mut(),
            code: code.as_mut_ptr().cast(),
            code_size: code.len(),
            format: format.as_ptr().cast(),
            format_size: format.len(),
        };
        let mut args = ClientCompile {
            client: self.handle(),
            program: &raw mut program,
            compile_options: options.as_ptr().cast(),
            compile_options_size: options.len(),
            ..ApiFunction::zeroed()
        };
        // SAFETY: the client is live, and the other pointers refer to values that outlive the call.
        unsafe { self.table().call(&mut args) }?;
        // SAFETY: the plugin returned an executable, which is freed here.
        let handle = unsafe { Owned::new(self.table(), args.executable) };
        let handle = handle.ok_or_else(no_handle::<ClientCompile>)?;
        let num_outputs = self.num_outputs(&handle)?;
        Ok(LoadedProgram { handle, inputs, num_outputs, cuts, device: device.clone(), client: self.clone() })
    }

    /// Returns the number of results of an executable.
    fn num_outputs(&self, loaded: &Owned<LoadedExecutableHandle>) -> Result<usize, PjrtError> {
        let mut args =
            LoadedExecutableGetExecutable { loaded_executable: loaded.get(), ..ApiFunction::zeroed() };
        // SAFETY: the executable is live.
        unsafe { self.table().call(&mut args) }?;
        // SAFETY: the plugin returned an executable, which is freed here.
        let executable = unsafe { Owned::new(self.table(), args.executable) };
        let executable = executable.ok_or_else(no_handle::<LoadedExecutableGetExecutable>)?;
        let mut args = ExecutableNumOutputs { executable: executable.get(), ..ApiFunction::zeroed() };
        // SAFETY: the executable is live.
        unsafe { self.table().call(&mut args) }?;
        Ok(args.num_outputs)
    }
}

/// Returns the types of a function's parameters, all of which must be tensors, like its results.
fn parameters(func: &Func) -> Result<Vec<TensorType>, PjrtError> {
    let token = |what: &str| {
        PjrtError::Unsupported(format!("@{} has a token as {what}, which plugins do not run", func.name))
    };
    if func.results().contains(&Type::Token) {
        return Err(token("result"));
    }
    let types = func.params().iter().map(|param| func.tensor(*param).cloned());
    types.collect::<Option<_>>().ok_or_else(|| token("parameter"))
}

/// Returns true if a function is the only public one, and has the name that plugins expect.
fn is_only_entry(module: &Module, func: &Func) -> bool {
    func.name == ENTRY && func.public && module.funcs().iter().filter(|func| func.public).count() == 1
}

/// Returns a copy of a module with a function as the only public one, under the name that plugins expect.
fn with_entry(module: &Module, func: &Func) -> Module {
    let mut module = module.clone();
    if let Some(id) = module.func_id(&func.name) {
        module.set_entry(id);
    }
    if let Some(id) = module.func_id(&func.name) {
        module.func_mut(id).name = ENTRY.to_owned();
    }
    module
}

impl LoadedProgram {
    /// Types of the inputs.
    pub fn inputs(&self) -> &[TensorType] {
        &self.inputs
    }

    /// The device that the program runs on.
    pub fn device(&self) -> &ClientDevice {
        &self.device
    }

    /// The client that compiled the program.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Runs the program on buffers of its device, and returns one buffer for each result of the executable.
    /// Does not wait for the run: its errors are returned when a result is read.
    ///
    /// If the program donates a parameter, the run consumes the buffer of its argument.
    ///
    /// # Errors
    /// If an argument has another type or belongs to another client, or the plugin refuses the call.
    pub fn execute(&self, arguments: &[ClientBuffer]) -> Result<Vec<ClientBuffer>, PjrtError> {
        let (results, done) = self.launch(arguments)?;
        // SAFETY: the plugin returned an event. The run continues without it.
        drop(unsafe { Owned::new(self.client.table(), done) });
        Ok(results)
    }

    /// Runs the program on tensors, and waits for the results. Results with bounded dimensions are cut to the
    /// computed sizes.
    ///
    /// # Errors
    /// The errors of [`execute`](LoadedProgram::execute), and of the run.
    pub fn run(&self, inputs: &[Literal]) -> Result<Vec<Literal>, PjrtError> {
        let arguments: Result<Vec<_>, _> =
            inputs.iter().map(|input| self.client.buffer(input, &self.device)).collect();
        let (results, done) = self.launch(&arguments?)?;
        // SAFETY: the plugin returned an event.
        unsafe { wait(self.client.table(), done) }?;
        let results: Result<Vec<_>, _> = results.iter().map(ClientBuffer::literal).collect();
        bounded::cut(&self.cuts, results?).map_err(|e| PjrtError::Unsupported(e.to_string()))
    }

    /// Starts a run. Returns its results, and its event, which the caller frees.
    fn launch(&self, arguments: &[ClientBuffer]) -> Result<(Vec<ClientBuffer>, *mut EventHandle), PjrtError> {
        self.check(arguments)?;
        let handles: Vec<*mut BufferHandle> = arguments.iter().map(ClientBuffer::handle).collect();
        let mut outputs = vec![std::ptr::null_mut::<BufferHandle>(); self.num_outputs];
        let (argument_lists, output_lists) = ([handles.as_ptr()], [outputs.as_mut_ptr()]);
        let mut done = [std::ptr::null_mut::<EventHandle>()];
        // SAFETY: all bits zero is a valid value of the struct (see `Struct`).
        let mut options: ExecuteOptions = unsafe { std::mem::zeroed() };
        options.struct_size = size_of::<ExecuteOptions>();
        let mut args = LoadedExecutableExecute {
            executable: self.handle.get(),
            options: &raw mut options,
            argument_lists: argument_lists.as_ptr(),
            num_devices: 1,
            num_args: handles.len(),
            output_lists: output_lists.as_ptr(),
            device_complete_events: done.as_mut_ptr(),
            ..ApiFunction::zeroed()
        };
        // SAFETY: the handles are live, and the lists have the lengths that the program has.
        let started = unsafe { self.client.table().call(&mut args) };
        // SAFETY: the plugin returned buffers, which are freed here.
        let owned = outputs.iter().map(|handle| unsafe { Owned::new(self.client.table(), *handle) });
        let owned: Option<Vec<_>> = owned.collect();
        let [done] = done;
        let results = started.and_then(|()| {
            let owned = owned.ok_or_else(no_handle::<LoadedExecutableExecute>)?;
            owned.into_iter().map(|handle| self.client.returned(handle)).collect::<Result<Vec<_>, _>>()
        });
        match results {
            Ok(results) => Ok((results, done)),
            Err(error) => {
                // SAFETY: the plugin returned an event, or left the null pointer.
                drop(unsafe { Owned::new(self.client.table(), done) });
                Err(error)
            }
        }
    }

    /// Checks the arguments of a run.
    fn check(&self, arguments: &[ClientBuffer]) -> Result<(), PjrtError> {
        let (wanted, given) = (self.inputs.len(), arguments.len());
        if wanted != given {
            return Err(PjrtError::Argument(format!("the program takes {wanted} arguments, not {given}")));
        }
        for (i, (argument, ty)) in arguments.iter().zip(&self.inputs).enumerate() {
            if argument.ty() != ty {
                let found = argument.ty();
                return Err(PjrtError::Argument(format!("argument {i} must be {ty}, but is {found}")));
            }
            if !argument.client().is(&self.client) {
                return Err(PjrtError::Argument(format!("argument {i} belongs to another client")));
            }
        }
        Ok(())
    }
}
