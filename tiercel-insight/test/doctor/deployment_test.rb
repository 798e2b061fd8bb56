# frozen_string_literal: true
# suites: insight

require "json"
require_relative "doctor_case"

# The doctor's checks of an application's deployment.
class DoctorDeploymentTest < DoctorCase
  PUMA = { "config/puma.rb" => "workers ENV.fetch(\"WEB_CONCURRENCY\", 2)\n" }.freeze
  TWO_HOSTS = { "config/deploy.yml" => "servers:\n  web:\n    - 10.0.0.1\n    - 10.0.0.2\n" }.freeze
  TWO_ROLES = { "config/deploy.yml" => "servers:\n  web: [10.0.0.1]\n  job:\n    hosts: [10.0.0.1]\n" }.freeze

  def memory_store = ActiveSupport::Cache::MemoryStore.new

  def with_shared
    with_tmpdir do |folder|
      store = Tiercel.new("shared:#{folder}/cache", size: "4MB")
      yield store, folder
    ensure
      store&.close
    end
  end

  def workers(text, env = {})
    deployed({ "config/puma.rb" => text }, env:) { |at| return at.puma_workers }
  end

  def test_the_number_of_workers_in_puma_rb
    { "workers 3" => 3, "threads 1, 5" => 0, "workers 0" => 0, "workers ENV.fetch(\"N\", 4)" => 4,
      "workers Integer(ENV.fetch(\"N\") { 2 })" => 2, "workers ENV[\"N\"] || 5" => 5, "workers :auto" => 2,
      "workers(ENV[\"N\"].to_i) if ENV[\"N\"]" => nil, "workers Etc.nprocessors" => nil }.each do |text, count|
      count.nil? ? assert_nil(workers(text), text) : assert_equal(count, workers(text), text)
    end
    assert_equal 7, workers("workers ENV.fetch(\"N\", 4)", { "N" => "7" })
    assert_equal 3, workers("threads 1, 5", { "WEB_CONCURRENCY" => "3" })
    assert_equal 2, workers("threads 1, 5", { "WEB_CONCURRENCY" => "auto" })
  end

  def test_a_cache_of_one_process_under_clustered_puma
    [memory_store, Tiercel.new("memory:")].each do |store|
      deployed(PUMA) { |at| assert_found(/each of the 2 Puma workers has a separate/, examine(store, deployment: at)) }
    end
    with_shared { |store,| deployed(PUMA) { |at| assert_nothing_found examine(store, deployment: at) } }
    deployed({ "config/puma.rb" => "threads 3, 3" }) { |at| assert_nothing_found examine(memory_store, deployment: at) }
  end

  def test_a_cache_of_one_machine_on_several_hosts
    with_shared do |store, folder|
      on_disk = [Tiercel.new("file:#{folder}/files"), Tiercel.new("sqlite:#{folder}/cache.sqlite3"),
                 Class.new(memory_store.class) { def self.name = "ActiveSupport::Cache::Litecache" }.new]
      [store, *on_disk].each do |local|
        deployed(TWO_HOSTS) { |at| assert_found(/lists 2 hosts/, examine(local, deployment: at)) }
      end
    end
  end

  def test_web_and_job_containers_on_one_host
    with_shared do |store,|
      deployed(TWO_ROLES) { |at| assert_found(/the roles web, job/, examine(store, deployment: at)) }
    end
  end

  # Kamal's files run commands in their ERB.
  def test_the_erb_of_a_deploy_file_is_never_run
    with_shared do |store, folder|
      files = { "config/deploy.yml" => "<% File.write('#{folder}/ran', '') %>\n" \
                                       "servers:\n  - 10.0.0.1\n  - <%= `touch #{folder}/ran` %>\n" \
                                       "registry: <%= `touch #{folder}/ran` %>\n" }
      deployed(files) do |at|
        assert_equal ["10.0.0.1"], at.hosts
        assert_nothing_found examine(store, deployment: at)
      end
      refute_path_exists "#{folder}/ran"
    end
  end

  def test_a_segment_of_another_size
    with_shared do |_, folder|
      store = Tiercel.new("shared:#{folder}/cache", size: "8MB")
      assert_found(/has 4\.0 MB, although size: is 8\.0 MB/, examine(store))
    ensure
      store&.close
    end
  end

  def test_dockers_own_size_of_shared_memory
    with_shared do |store, folder|
      mounts = "shm #{folder} tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k 0 0\n"
      small = here(container: true, shared_memory: folder, mounts:)
      assert_found(/has 64.0 MB, Docker's default/, examine(store, deployment: small))
      enough = here(container: true, shared_memory: folder, mounts: mounts.sub("65536k", "1048576k"))
      assert_nothing_found examine(store, deployment: enough)
    end
  end

  def test_a_segment_outside_shared_memory
    with_tmpdir do |folder|
      store = Tiercel.new("shared:#{folder}/tiercel-shop-production-0-00000000.v3", size: "4MB")
      assert_found(/so its pages are written to a disk/, examine(store, deployment: here(shared_memory: "/elsewhere")))
      assert_nothing_found examine(store, deployment: here(shared_memory: folder))
    ensure
      store&.close
    end
  end

  def test_a_segment_that_had_no_room_in_a_containers_shared_memory
    with_tmpdir do |folder|
      store = Tiercel.new("shared:#{folder}/tiercel-shop-production-0-00000000.v3", size: "4MB")
      mounts = "shm /elsewhere tmpfs rw,size=4096k 0 0\n"
      report = examine(store, deployment: here(container: true, shared_memory: "/elsewhere", mounts:))
      assert_found(%r{is not in /elsewhere \(4\.0 MB\), so its pages are written to a disk}, report)
      assert_includes report.to_text, "--shm-size 512m"
      refute_includes report.to_text, "Docker's default"
    ensure
      store&.close
    end
  end

  # The doctor measures the memory of a MemoryStore in a child process, and does not believe its counter.
  def test_the_memory_of_a_memory_store_in_eight_workers
    deployed({ "config/puma.rb" => "workers 8" }) do |at|
      report = examine(ActiveSupport::Cache::MemoryStore.new(size: 256 << 20), deployment: at)
      assert_found(/size 256\.0 MB: entries that come and go occupy [1-9]\.\d times .* 8 workers use up to \d/, report)
      assert_operator report.to_text[/come and go occupy ([\d.]+)/, 1].to_f, :>, 1
    end
  end

  def test_what_is_stored_in_plain
    with_shared do |store, folder|
      assert_match(/ok +the cache, values: not encrypted: everybody who can read shared:.*\(encrypt: true\)/,
                   examine(store).to_text)
      secret = Tiercel.new("sqlite:#{folder}/cache.sqlite3", encrypt: { keys: ["k" * 32] })
      assert_match(/values: encrypted$/, examine(secret).to_text)
      refute_includes examine(memory_store).to_text, "encrypted"
    ensure
      secret&.close
    end
  end

  def test_a_store_whose_calls_take_long
    assert_found(/a call takes 10\.000 ms/, examine(memory_store, seconds: 0.010))
    assert_nothing_found examine(memory_store, seconds: 0.0099)
  end

  def test_an_unbounded_file_store
    assert_found(/grows until the disk is full/, examine(ActiveSupport::Cache::FileStore.new(dir)))
  end

  def test_marshal_over_a_network_without_tls
    store = Tiercel.new("redis://:secret@10.255.255.1:6379/0", timeout: 0.05, error_handler: ->(**) {})
    report = examine(store)
    assert_found(/Marshal over a network without TLS/, report)
    refute_includes report.to_text, "secret"
    refute_match(/Marshal over/, examine(Tiercel.new("redis://10.255.255.1", timeout: 0.05, marshal: false,
                                                     error_handler: ->(**) {})).to_text)
  end

  def test_hostile_text_does_not_reach_the_terminal
    finding = Tiercel::Insight::Doctor::Finding.new(status: :sound, check: "c", subject: "s",
                                                    text: "a\e[2Jb\xE2\x80\xAE\xFF".b)
    report = Tiercel::Insight::Doctor::Report.new([finding])
    refute_match(/[\e\u202E]/, report.to_text)
    assert_predicate report.to_text, :valid_encoding?
    assert_match(/"sound":true/, report.to_h.to_json)
    assert_equal "at redis://***@host:1", Tiercel::Insight::Text.redacted("at redis://:p-s.:w@host:1\n")
    assert_equal ["99.9 %", "100 %"], [0.9999, 1].map { |share| Tiercel::Insight::Text.percent(share) }
  end
end
