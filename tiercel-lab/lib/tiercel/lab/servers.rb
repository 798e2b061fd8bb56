# frozen_string_literal: true

require "openssl"

require_relative "../lab"

module Tiercel::Lab
  # Starts servers for tests and measurements, on free loopback ports or Unix sockets, and stops them by PID. The module
  # never uses a server that is running already, and no server outlives the process that started it.
  #
  #   server = Tiercel::Lab::Servers::Memcached.new.start
  #   server.url     # => "memcached://127.0.0.1:38211"
  #   server.stop
  #
  #   Tiercel::Lab::Servers::Redis.run { |server| ... server.url ... }
  module Servers
    Tiercel::Lab.declare self,
                "servers/programs" => %i[Memcached MemcachedRing PostgreSQL Redis RedisCluster RedisSentinel]

    # A server did not start, or did not carry out a command.
    class Error < Tiercel::Lab::Error; end

    # The server's program is not installed. The message names the package.
    class NotInstalled < Error; end

    # Talks to a server without a client library: to see whether it is ready, and for requests of tests.
    module Conversation
      # Opens a connection, which the caller closes.
      #
      # @param within [Numeric] seconds for the connection and each read
      # @return [IO, OpenSSL::SSL::SSLSocket]
      def connect(within: 1)
        io = socket ? UNIXSocket.new(socket) : Socket.tcp(Server::HOST, port, connect_timeout: within)
        io.timeout = within
        certificate ? encrypt(io) : io
      end

      # Sends bytes over a new connection, and yields it so that the block can read the answer.
      #
      # @param bytes [String] including line ends
      # @param within [Numeric] seconds for each read
      # @yieldparam io [IO]
      # @return [Object, nil] the block's value; nil if the server did not answer in time
      def exchange(bytes, within: 1)
        io = connect(within: within)
        io.write(bytes)
        yield io
      rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
        nil
      ensure
        io&.close
      end

      private

      def encrypt(io)
        context = OpenSSL::SSL::SSLContext.new
        context.set_params(ca_file: certificate.file)
        ssl = OpenSSL::SSL::SSLSocket.new(io, context)
        ssl.sync_close = true
        ssl.hostname = "localhost"
        ssl.connect
      rescue OpenSSL::SSL::SSLError, SystemCallError, IOError
        io.close
        raise
      end
    end

    # The classes whose servers run for a block.
    module Runs
      # @param options see the class's #initialize
      # @yieldparam server [Server, Group] started; it stops after the block
      # @return [Object] the block's value
      def run(**options)
        server = new(**options).start
        yield server
      ensure
        server&.stop
      end
    end

    # Stops a server and removes its folder if the process that started it was killed.
    #
    # A small shell reads from a pipe that only our process and its forks hold open. When the last of them ends, for
    # any reason, the read ends, and the shell stops the process whose PID is in the folder's file.
    #
    # @private
    class Guard
      SCRIPT = 'read -r _; [ ! -f "$1/guarded.pid" ] || kill -KILL "$(cat "$1/guarded.pid")"; rm -rf "$1"'
      private_constant :SCRIPT

      # @param folder [String] the server's folder
      def initialize(folder)
        @file = File.join(folder, "guarded.pid")
        reader, @writer = IO.pipe
        @pid = Process.spawn("/bin/sh", "-c", SCRIPT, "tiercel-lab-guard", folder,
                             in: reader, out: File::NULL, err: File::NULL, pgroup: true)
        reader.close
      end

      # @param pid [Integer, nil] the process to stop; nil: none is running
      # @return [void]
      def watch(pid) = pid ? File.write(@file, pid.to_s) : File.delete(@file)

      # Ends the guard, after a normal stop.
      #
      # @return [void]
      def release
        Process.kill(:KILL, @pid)
        Process.wait(@pid)
        @writer.close
      end
    end

    # One server process. The server starts on a free loopback port or a Unix socket. It is ready when it answers a
    # request, without a fixed waiting time. The server is stopped by PID.
    #
    # @abstract Subclasses implement {.program}, {.package}, #command, #ask_version and #url.
    class Server
      include Conversation
      extend Runs


      HOST = "127.0.0.1"
      # Maximum number of attempts to start, in case another process takes the free port first.
      ATTEMPTS = 5
      START_SECONDS = 15
      STOP_SECONDS = 5
      PAUSE_SECONDS = 1
      # Longest path of a Unix socket on Linux and macOS, including the final zero byte.
      SOCKET_PATH_BYTES = 104

      class << self
        # @return [String] name of the executable
        def program = raise(NotImplementedError)

        # @return [String] its package in Debian
        def package = program

        # @return [String, nil] path of the executable
        def executable
          folders = ENV.fetch("PATH", "").split(File::PATH_SEPARATOR) + %w[/usr/sbin /usr/local/bin /usr/local/sbin]
          folders.map { |folder| File.join(folder, program) }
                 .find { |path| File.executable?(path) && File.file?(path) }
        end

        # @return [Boolean] whether the program is installed
        def installed? = !executable.nil?
      end

      # @return [Integer, nil] nil if it is not running
      attr_reader :pid
      # @return [Integer, nil] nil before the first start, and with a Unix socket
      attr_reader :port
      # @return [String, nil] path of the Unix socket, nil with TCP
      attr_reader :socket
      # @return [String] the version that the server reports
      attr_reader :version
      # @return [Certificate, nil] for clients; nil without TLS, or before the first start
      attr_reader :certificate

      # @param socket [Boolean, String] true: a Unix socket in a new folder; a String: the socket's path
      # @param port [Integer, nil] TCP port; nil takes a free one
      # @param tls [Boolean] whether the server uses TLS, with the {#certificate}
      # @param cpu [Integer, nil] the only CPU for the server (Linux)
      # @param args [Array<String>] more arguments for the program, after the lab's
      def initialize(socket: false, port: nil, tls: false, cpu: nil, args: [])
        @socket = socket == true ? nil : (socket || nil)
        @over_socket = socket ? true : false
        @fixed_port = port
        @tls = tls
        @cpu = cpu
        @args = args
      end

      # Starts the server and waits until it answers. A second start uses the same address.
      #
      # @return [self]
      # @raise [NotInstalled]
      # @raise [Error] if the server ends or does not answer; the message ends with the server's log
      def start
        raise Error, "#{self} is running already (pid #{pid})" if pid
        prepare
        launch
        self
      end

      # Stops the server, by force if necessary. Does nothing if it is not running.
      def stop
        return self unless @owner == Process.pid
        end_process(*stop_signals) if pid
        remove_folder if folder
        self
      end

      # Kills the server as in a crash: it cannot notify its clients.
      def kill
        end_process(:KILL) if owned?
        self
      end

      # Stops the server and starts it at the same address without data.
      def restart
        end_process(*stop_signals) if owned?
        start
      end

      # Stops the server's threads (SIGSTOP): the kernel still accepts connections, but nothing answers. Returns when
      # all threads have stopped, because they may answer for a moment after the signal.
      #
      # @return [self]
      def pause
        signal(:STOP)
        wait_until_stopped
        self
      end

      # Continues after a {#pause}.
      #
      # @return [self]
      def resume
        signal(:CONT)
        self
      end

      # @return [Boolean] whether the process exists, paused or not
      def running?
        return false unless pid
        return Process.kill(0, pid) == 1 unless owned?
        gone? && forget
        !pid.nil?
      rescue Errno::ESRCH
        false
      end

      # @return [String, nil] the loopback address, nil with a Unix socket
      def host = @over_socket ? nil : HOST

      # @return [String] the address, in the store's form
      def url = raise(NotImplementedError)

      # @return [String] the server's output
      def log = @folder && File.exist?(log_path) ? File.read(log_path) : ""

      # @return [String] program and address
      def to_s = "#{self.class.program} at #{@over_socket ? socket : "#{HOST}:#{port}"}"

      # @return [String]
      def inspect = "#<#{self.class.name} #{self} #{pid ? "pid #{pid}" : "not running"}>"

      private

      attr_reader :folder

      # @return [Array<String>] the command's arguments
      def arguments = raise(NotImplementedError)

      # @return [String, nil] the version if the server is ready to serve, else nil
      def ask_version = raise(NotImplementedError)

      # The signals that {#stop} sends one after the other until the process ends.
      def stop_signals = %i[TERM KILL]

      def prepare
        unless self.class.installed?
          raise NotInstalled, "#{self.class.program} is not installed: apt-get install #{self.class.package} " \
                              "(bin/setup as root does it)"
        end
        create_folder unless folder
        choose_socket if @over_socket
        @certificate = Certificate.new(@folder) if @tls
      end

      # A restarted server has the same folder, and therefore the same socket.
      def create_folder
        @owner = Process.pid
        @kept_folder ? Dir.mkdir(@kept_folder, 0o700) : @kept_folder = Dir.mktmpdir("tiercel-lab-")
        @folder = @kept_folder
        @guard = Guard.new(folder)
      end

      def remove_folder
        @guard.release
        FileUtils.rm_rf(folder)
        @folder = nil
      end

      def choose_socket
        @socket ||= File.join(@folder, "server.sock")
        return if socket.bytesize < SOCKET_PATH_BYTES
        raise Error, "socket path #{socket.inspect}: #{socket.bytesize} bytes, at most #{SOCKET_PATH_BYTES - 1} " \
                     "work; set TMPDIR to a shorter folder"
      end

      def launch
        attempt = 0
        begin
          attempt += 1
          @port = @fixed_port || @kept_port || free_port unless @over_socket
          spawn_process
          wait_until_ready
        rescue Error
          end_process(:KILL) if owned?
          retry if attempt < ATTEMPTS && !@over_socket && !@fixed_port && !@kept_port && log.match?(/in use/i)
          raise
        end
        @kept_port = @port
      end

      # Another process may take this free port before the server does; {#launch} then tries again.
      def free_port = TCPServer.open(HOST, 0) { |server| server.addr[1] }

      def spawn_process
        # The server has its own process group, so that Ctrl-C at the terminal reaches only our process, which then
        # stops the server. The server inherits no sockets. hiredis' sockets stay open in children, and could exceed the
        # server's limit of files.
        @pid = Process.spawn(*pinned, self.class.executable, *arguments, *@args,
                             in: File::NULL, out: log_path, err: %i[child out], chdir: @folder, pgroup: true,
                             close_others: true)
        @guard.watch(pid)
      end

      def pinned = @cpu ? ["taskset", "--cpu-list", @cpu.to_s] : []

      def wait_until_ready
        deadline = now + self.class::START_SECONDS
        until (@version = ask_version)
          raise Error, "#{self} ended at its start. Its log:\n#{log}" unless running?
          if now > deadline
            raise Error, "#{self} did not answer within #{self.class::START_SECONDS} s. Its log:\n#{log}"
          end
          sleep 0.005
        end
      end

      # A forked child does not stop servers of its parent.
      def owned? = !pid.nil? && @owner == Process.pid

      def signal(name)
        raise Error, "#{self} is not running" unless owned?
        Process.kill(name, pid)
      end

      # The kernel does not report a second pause to the parent, hence the time limit.
      def wait_until_stopped
        deadline = now + PAUSE_SECONDS
        until Process.waitpid(pid, Process::WNOHANG | Process::WUNTRACED)
          return if now > deadline
          sleep 0.001
        end
      end

      def end_process(*signals)
        signals.each do |name|
          Process.kill(name, pid)
          Process.kill(:CONT, pid) # a paused process acts on nothing but KILL
          return forget if gone_within?(STOP_SECONDS)
        end
        raise Error, "#{self} (pid #{pid}) could not be ended"
      rescue Errno::ESRCH, Errno::ECHILD
        forget
      end

      def gone_within?(seconds)
        deadline = now + seconds
        until gone?
          return false if now > deadline
          sleep 0.002
        end
        true
      end

      # Reaps the process if it has ended.
      def gone? = !Process.waitpid(pid, Process::WNOHANG).nil?

      def forget
        @guard.watch(nil)
        @pid = nil
        FileUtils.rm_f(socket) if socket
      end

      def log_path = File.join(@folder, "server.log")

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # A self-signed certificate for the loopback address, valid for a day, for servers with TLS and their clients.
    class Certificate
      SECONDS = 86_400

      # @return [String] path of the certificate (PEM), also the clients' CA file
      attr_reader :file
      # @return [String] path of its private key (PEM)
      attr_reader :key_file

      # @param folder [String] folder for the two files
      def initialize(folder)
        @file = File.join(folder, "server.crt")
        @key_file = File.join(folder, "server.key")
        return if File.exist?(@key_file)
        key = OpenSSL::PKey::EC.generate("prime256v1")
        File.write(@file, issue(key).to_pem)
        File.write(@key_file, key.private_to_pem, perm: 0o600)
      end

      private

      def issue(key)
        certificate = OpenSSL::X509::Certificate.new
        certificate.version = 2 # X.509 v3
        certificate.serial = OpenSSL::BN.rand(64)
        certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=localhost")
        certificate.public_key = key
        certificate.not_before = Time.at(Process.clock_gettime(Process::CLOCK_REALTIME)) - 60
        certificate.not_after = certificate.not_before + SECONDS
        add_extensions(certificate)
        certificate.sign(key, OpenSSL::Digest.new("SHA256"))
      end

      def add_extensions(certificate)
        factory = OpenSSL::X509::ExtensionFactory.new(certificate, certificate)
        certificate.add_extension(factory.create_extension("basicConstraints", "CA:TRUE", true))
        certificate.add_extension(factory.create_extension("subjectAltName", "IP:127.0.0.1,DNS:localhost"))
      end
    end

    # Several servers that belong together.
    #
    # @abstract Subclasses fill `@nodes` and implement `wait_until_ready`, which waits for what a group needs after
    #   the start of its servers.
    class Group
      extend Runs

      # @return [Array<Server>] in the order of the URL
      attr_reader :nodes

      # @return [self]
      # @raise [Error] if a server does not start, or the group is not ready in time; it then stops all servers
      def start
        nodes.each(&:start)
        wait_until_ready
        self
      rescue Error
        stop
        raise
      end

      # Stops the servers and starts them at the same addresses, without data.
      #
      # @return [self]
      def restart
        each_node(:restart)
        wait_until_ready
        self
      end

      # @return [self]
      def stop
        nodes.reverse_each(&:stop)
        self
      end

      # @return [self]
      def kill = each_node(:kill)

      # @return [self]
      def pause = each_node(:pause)

      # @return [self]
      def resume = each_node(:resume)

      # @return [Array<Integer, nil>] pids of the nodes, in order
      def pids = nodes.map(&:pid)

      # @return [Array<Integer>] ports of the nodes, in order
      def ports = nodes.map(&:port)

      # @return [String] the version that the servers report
      def version = nodes.first.version

      private

      def wait_until_ready = nil

      def each_node(action)
        nodes.each(&action)
        self
      end
    end
  end
end
