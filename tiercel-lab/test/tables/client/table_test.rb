# frozen_string_literal: true

require_relative "../../support/lab_case"

class ClientCommandTest < LabCase
  class Short < Tiercel::Lab::Tables::Client::Table
    called "client", Tiercel::Lab::Tables::Client::Table.summary

    def protocol = LabCase::TINY
  end

  def client(*arguments, &) = run_command(Short, *arguments, "--value", "string-100b", &)

  def assert_all_measured(command)
    wrong = command.results["cells"].reject { |cell| cell["status"] == "measured" }
    assert_empty(wrong.map { |cell| cell.values_at("id", "status", "reason") })
    assert_empty SCHEMA.errors(command.results)
  end

  def test_clients_of_memcached
    skip "memcached is not installed" unless Lab::Servers::Memcached.installed?
    operations = %w[client_get client_set_multi]
    client("--client", "dalli", "--client", "backend:memcached", "--op", operations.join(",")) do |code, command|
      assert_equal 0, code
      assert_all_measured(command)
      assert_equal operations, command.results["cells"].map { |cell| cell["operation"] }.uniq - ["client_loop"]
      assert_match(/^Client: set_multi of 100, one memcached, string-100b \(noise floor: /,
                   command.out.string)
      assert_match(/^dalli \(#{Regexp.escape(Gem.loaded_specs.fetch("dalli").version.to_s)}\) /,
                   command.out.string)
      assert_match(/a call that does nothing, loop included, takes 0.0/, command.out.string)
    end
  end

  def test_clients_of_redis
    skip "redis-server is not installed" unless Lab::Servers::Redis.installed?
    client("--server", "redis", "--op", "client_set,client_get_multi", "--client", "redis_gem", "--client",
           "backend:redis", "--client", "redis_client") do |code, command|
      assert_equal 0, code
      assert_all_measured(command)
      assert_equal "raw:redis", command.results["cells"].first["contestant"]["text"]
    end
  end

  def test_what_is_no_client_is_refused
    assert_refused(["client", "--client", "memory_store"] => /not a client/, ["client", "--op", "fly"] => /client_get/,
                   ["client", "--server", "sun"] => /memcached/)
  end
end
