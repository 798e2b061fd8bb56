# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Capabilities
      # Tests one store. Two such processes open the same store.
      class Probe < Load::Client
        # A text of 300 KB, which exceeds the compression threshold of every store.
        TEXT = "All work and no play makes Jack a dull boy. " * 7_000

        # @param context [Hash] see {Engine::Context#initialize}
        # @return [Hash{String => Object}] an {Engine::Outcome}
        def open(text:, context:)
          Engine::Outcome.of { build(text, context) && {} }
        end

        # @return [String, nil]
        def read(name:) = store.read(name)

        # @return [Boolean]
        def write(name:, value:) = store.write(name, value) ? true : false

        # @return [Hash] marks, each with "mark" and "note"
        def marks
          { "serializes" => serializes, "compression" => compression, "local store" => local_store,
            "remote" => mark(connected?) }
        end

        private

        def contestant = subject.contestant

        def mark(mark, note = nil) = { mark: { true => "yes", false => "no" }.fetch(mark, mark), note: }

        def serializes
          written = [[+"first"]]
          return mark(false, "it keeps nothing") unless store.write("nested", written) && store.read("nested")
          written.first.first << " changed"
          return mark(true) if store.read("nested") == [["first"]]
          mark(false, "a change of what was written shows in what is read")
        end

        def compression
          return mark(false, "it keeps nothing") unless store.write("text", TEXT) && store.read("text") == TEXT
          return mark(true) if squeezed?("text")
          return mark(false) unless store.write("asked", TEXT, compress: true) && squeezed?("asked", compress: true)
          mark("partly", "when asked to (`compress: true`), not by itself")
        end

        # Within a request-local cache, a thread does not see the writes of another thread.
        def local_store
          return mark(false) unless store.respond_to?(:with_local_cache) && store.write("local", "one")
          mark(store.with_local_cache do
            store.read("local")
            Thread.new { store.write("local", "two") }.join
            store.read("local") == "one"
          end)
        end

        def squeezed?(name, **options)
          asked = options.any? && !contestant.text.start_with?("tiercel")
          entry = ActiveSupport::Cache::Entry.new(TEXT)
          payload = store.send(:serialize_entry, entry, **store.send(:merged_options, options)) if asked
          bytes = payload ? payload.bytesize : contestant.stored_bytes(store, name, TEXT)
          bytes ? bytes < TEXT.bytesize / 2 : false
        end

        # Returns whether this process holds a TCP connection to one of the store's servers.
        def connected?
          ports = subject.context.server_urls.filter_map { |url| url[/:(\d+)/, 1]&.to_i }
          Dir.children("/dev/fd").any? do |descriptor|
            peer = Socket.for_fd(descriptor.to_i).tap { |socket| socket.autoclose = false }.remote_address
            peer.ip? && ports.include?(peer.ip_port)
          rescue SystemCallError
            false # no socket, or one without a peer
          end
        end
      end

      # Tests stores with two processes each, which have the store's own bundle. A row has "marks", or a "reason".
      class Examination < Load::Trial
        # Whether a store spreads its keys over several servers, as its documentation says.
        CLUSTER = { "mem_cache_store" => ["yes"], "tiercel:memcached:" => ["yes"],
                    "tiercel:redis:" => ["yes", "as `redis+cluster:`"],
                    "redis_cache_store" => ["partly", "by a client that the application builds (`redis:`)"],
                    "solid_cache_store" => ["partly", "by shards over several databases"] }.freeze

        private

        def measure
          @design.stores.each do |text|
            contestant = Contestants.parse(text)
            rows << { "store" => contestant.name, **Engine::Outcome.of { { marks: marks(contestant) } } }
            @progress.advance(Design::SECONDS, text)
          end
        end

        def marks(contestant)
          label = "capabilities-#{Process.pid}-#{contestant.name.gsub(/\W+/, "-")}"
          context = context(contestant, label, shared: true) # both processes use the same folder
          with_fleet(2, path: "tables/capabilities/probe", bundle: contestant.bundle) do |probes|
            probes.open(text: contestant.text) { { context: } }
            ask(contestant, *probes.jobs)
          end
        end

        def ask(contestant, one, other)
          one.call("write", name: "shared", value: "one")
          shared = other.call("read", name: "shared") == "one"
          found = one.call("marks")
          server = "with a server on the node" if shared && found["remote"]["mark"] == "yes"
          { **found, "cross process" => mark(shared), "cluster" => cluster(contestant),
            "node local" => mark(shared, shared ? server : "each process has its own"),
            "limited by" => { "words" => limit(contestant) } }
        end

        def mark(yes, note = nil) = { "mark" => yes ? "yes" : "no", "note" => note }

        # In a stack of tiers the last tier counts.
        def cluster(contestant)
          last = contestant.tiers.empty? ? contestant.text : "tiercel:#{contestant.tiers.last}"
          word, note = CLUSTER[last] || CLUSTER.find { |store, _| last.start_with?("#{store}:") }&.last || ["no"]
          { "mark" => word, "note" => note }
        end

        def limit(contestant)
          return "nothing is kept" unless contestant.keeps?
          place = contestant.medium == :disk || contestant.servers.include?(:postgresql) ? "disk" : "memory"
          contestant.servers.any? ? "#{place} of the server" : place
        end
      end
    end
  end
end
