# frozen_string_literal: true

require "test_helper"
require "open3"
require "tiercel/lab/servers"

# Starts each server for real; bin/setup installs the programs.
class ServersTest < Tiercel::TestCase
  Servers = Tiercel::Lab::Servers

  # The bundle of a contestant may lack the gem tiercel.
  def test_a_worker_without_tiercel_can_name_their_errors
    lib = File.expand_path("../lib", __dir__)
    nothing = %w[RUBYOPT RUBYLIB BUNDLE_GEMFILE].to_h { |name| [name, nil] }
    out, status = Open3.capture2e(nothing, RbConfig.ruby, "--disable-gems", "-I", lib, "-e",
                                  'require "tiercel/lab"; puts Tiercel::Lab::Servers::NotInstalled.superclass')
    assert_equal ["Tiercel::Lab::Servers::Error\n", true], [out, status.success?]
  end

  def test_redis_with_a_password_and_a_limit
    Servers::Redis.run(password: "secret", maxmemory: "2mb", policy: "allkeys-lru") do |server|
      assert_equal "redis://:secret@127.0.0.1:#{server.port}/0", server.url
      assert_equal "PONG", server.command("PING")
      assert_match(/-NOAUTH/, server.exchange("PING\r\n", &:gets))
      assert_match(/^maxmemory_policy:allkeys-lru/, server.command("INFO", "memory"))
      assert_match(/^maxmemory:2097152/, server.command("INFO", "memory"))
    end
  end

  def query(server, sql)
    output, status = Open3.capture2e("psql", "--no-psqlrc", "-qAt", "-c", sql, server.url)
    assert status.success?, output
    output.chomp
  end

  def test_postgresql_keeps_what_it_holds_until_it_is_stopped
    Servers::PostgreSQL.run(settings: { work_mem: "5MB" }) do |server|
      assert_equal "postgresql://postgres@127.0.0.1:#{server.port}/postgres", server.url
      assert_equal "5MB", query(server, "SHOW work_mem")
      query(server, "CREATE TABLE a (b int); INSERT INTO a VALUES (7)")
      assert_equal "7", query(server.restart, "SELECT b FROM a")
      assert_equal "7", query(server.kill.start, "SELECT b FROM a")
    end
  end

  def test_stop_ends_the_process_and_removes_its_folder
    server = Servers::Redis.new(socket: true).start
    pid = server.pid
    folder = File.dirname(server.socket)
    assert_path_exists folder
    server.stop
    assert ended?(pid)
    assert_nil server.pid
    refute_path_exists folder
    assert_same server, server.stop

    url = server.url
    assert_equal "PONG", server.start.command("PING")
    assert_equal url, server.url
    server.stop
    refute_path_exists folder
  end

  def test_kill_and_restart_keep_the_place_and_lose_the_contents
    Servers::Redis.run do |server|
      port = server.port
      assert_equal "OK", server.command("SET", "a", "1")
      server.kill
      refute_predicate server, :running?
      assert_nil server.command("PING")
      server.start
      assert_equal port, server.port
      assert_nil server.command("GET", "a")
      server.restart
      assert_equal port, server.port
      assert_equal "PONG", server.command("PING")
    end
  end

  def test_a_server_that_dies_at_its_start_shows_its_log
    error = assert_raises(Servers::Error) { Servers::Redis.new(args: ["--no-such-option", "1"]).start }
    assert_match(/ended at its start.*no-such-option/m, error.message)
  end

  def test_a_port_that_is_taken_is_said_so
    TCPServer.open("127.0.0.1", 0) do |taken|
      error = assert_raises(Servers::Error) { Servers::Memcached.new(port: taken.addr[1]).start }
      assert_match(/in use/i, error.message)
    end
  end

  def test_a_program_that_is_not_there_is_named_with_its_package
    absent = Class.new(Servers::Memcached) do
      def self.program = "no-such-memcached"
      def self.package = "memcached"
    end
    refute_predicate absent, :installed?
    assert_match(/apt-get install memcached/, assert_raises(Servers::NotInstalled) { absent.new.start }.message)
  end

  # A program that prints its arguments and ends.
  def test_another_program_for_redis
    program = File.join(dir, "valkey-server")
    File.write(program, "#!/bin/sh\necho called: \"$@\"\n", perm: 0o755)
    with_env("REDIS_SERVER" => program) do
      assert_equal program, Servers::Redis.executable
      assert_match(/called: --port/, assert_raises(Servers::Error) { Servers::Redis.new.start }.message)
    end
    with_env("REDIS_SERVER" => File.join(dir, "nothing")) do
      assert_match(/REDIS_SERVER=\S+nothing: expected the path/,
                   assert_raises(Servers::NotInstalled) { Servers::Redis.new.start }.message)
    end
    with_env("REDIS_SERVER" => "") { assert_predicate Servers::Redis, :installed? }
  end

  def test_a_forked_child_ends_nothing_of_its_parent
    Servers::Memcached.run do |server|
      fork_and_wait(1) { server.stop }
      assert_predicate server, :running?
    end
  end

  # However the starter ends, its servers end too.
  def test_servers_do_not_outlive_their_starter
    { "a crash of the server" => "s.kill", "both killed" => "s.kill; Process.kill(:KILL, $$)",
      "exit" => "exit 3", "an error" => "raise 'wrong'", "SIGINT" => "Process.kill(:INT, $$); sleep 10",
      "SIGTERM" => "Process.kill(:TERM, $$); sleep 10", "SIGKILL" => "Process.kill(:KILL, $$)" }.each do |way, code|
      pid, folder = start_in_another_process(code)
      wait_until("the server's end after #{way}") { ended?(pid) }
      wait_until("its folder's end after #{way}") { !File.exist?(folder) }
    end
  end

  def start_in_another_process(code)
    script = "require 'tiercel/lab/servers'; s = Tiercel::Lab::Servers::Redis.new(socket: true).start; " \
             "puts s.pid, File.dirname(s.socket); $stdout.flush; #{code}"
    paths = $LOAD_PATH.first(4).flat_map { |path| ["-I", path] }
    output = IO.popen([RbConfig.ruby, *paths, "-e", script, err: File::NULL], &:read).lines(chomp: true)
    [Integer(output.fetch(0)), output.fetch(1)]
  end
end
