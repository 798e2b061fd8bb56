# frozen_string_literal: true
# suites: insight

require_relative "doctor_case"

# Several hosts with a host-local cache, without a config/deploy.yml that lists them.
class DoctorHostsTest < DoctorCase
  CAPISTRANO = <<~RUBY
    server "deploy@web1.example:2222", user: "deploy", roles: %w[web app]
    role :worker, %w[deploy@job1.example web1.example], primary: true
    role :db, ENV["DATABASE_HOST"]
    set :server, "not.a.host"
  RUBY

  def test_capistrano
    with_store do |store|
      deployed({ "config/deploy/production.rb" => CAPISTRANO }, env: { "RAILS_ENV" => "production" }) do |at|
        assert_equal %w[web1.example job1.example], at.hosts
        assert_found(%r{config/deploy/ lists 2 hosts}, examine(store, deployment: at))
      end
      deployed({ "config/deploy/staging.rb" => CAPISTRANO }, env: { "RAILS_ENV" => "production" }) do |at|
        assert_nothing_found examine(store, deployment: at)
      end
      deployed({ "config/deploy/production.rb" => %(server "web1", roles: :app) }) do |at|
        assert_nothing_found examine(store, deployment: at)
      end
    end
  end

  def test_a_second_dyno
    with_store do |store|
      assert_found(/this is the dyno web\.2/, examine(store, deployment: container("DYNO" => "web.2")))
      %w[web.1 run.4321 release.5 scheduler.77].each do |dyno|
        report = examine(store, deployment: container("DYNO" => dyno))
        assert_equal [0, 1], [report.exit_code, unknown(report, /Heroku does not reveal/).size], dyno
      end
    end
  end

  def test_platforms_that_do_not_tell
    { "KUBERNETES_SERVICE_HOST" => "Kubernetes", "FLY_MACHINE_ID" => "Fly", "RENDER_INSTANCE_ID" => "Render",
      "ECS_CONTAINER_METADATA_URI_V4" => "ECS", "KAMAL_CONTAINER_NAME" => "Kamal" }.each do |variable, name|
      with_store do |store|
        assert Deployment.container?({ variable => "x" })
        report = examine(store, deployment: container(variable => "x"))
        assert_equal 0, report.exit_code
        assert_equal 1, unknown(report, /\A#{name} does not reveal the number of containers/).size, name
      end
    end
  end

  def test_a_server_is_for_all_of_them
    Tiercel::Lab::Servers::Redis.run do |server|
      server.command("CONFIG", "SET", "maxmemory", "100mb")
      server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
      assert_nothing_found examine(Tiercel.new(server.url, timeout: 20), deployment: container("DYNO" => "web.2"))
    end
  end

  private

  def with_store
    with_tmpdir do |folder|
      store = Tiercel.new("shared:#{folder}/cache", size: "4MB")
      yield store
    ensure
      store&.close
    end
  end

  def container(env) = here(container: true, env:)

  def unknown(report, pattern)
    report.findings.select { |finding| finding.status == :unknown && finding.text.match?(pattern) }
  end
end
