# frozen_string_literal: true

require "erb"
require "open3"
require_relative "../../errors"

module Tiercel
  module Lab
    module CLI
      module Init
        # The files that `init` writes for a gem or a Rails application.
        class Files
          KINDS = %w[gem rails].freeze
          TEMPLATES = File.expand_path("templates", __dir__)
          # Path in the repository and template, by purpose.
          PATHS = {
            "gate" => { ".tiercel-lab.yml" => "gate.yml", "bench/SUBJECT_bench.rb" => "KIND_bench.rb" },
            "ci" => { ".github/workflows/benchmarks.yml" => "benchmarks.yml",
                      ".github/workflows/benchmark-history.yml" => "history.yml" }
          }.freeze
          # Profilers that the gate can use.
          PROFILERS = /vernier|stackprof/
          # Names of the servers' packages in Debian.
          PACKAGES = { "memcached" => "memcached", "redis" => "redis-server" }.freeze

          attr_reader :folder

          # @param folder [String] folder of the repository
          # @param servers [Array<String>]
          # @param kind [String, nil] one of {KINDS}; nil: an application has config/application.rb
          # @raise [UsageError] if the folder does not exist
          def initialize(folder, servers:, kind: nil)
            @folder = File.expand_path(folder)
            raise UsageError, "#{folder}: the folder does not exist" unless File.directory?(@folder)
            refuse_a_part_of_a_repository
            @servers = servers
            @kind = kind || (File.exist?(File.join(@folder, "config/application.rb")) ? "rails" : "gem")
          end

          # @param what [String] one of {PATHS}
          # @return [Hash{String => String}] texts by path
          def of(what)
            PATHS.fetch(what).to_h do |path, template|
              [path.sub("SUBJECT", subject), render(template.sub("KIND", @kind))]
            end
          end

          # @return [Array<String>] the user's next steps
          def advice
            gemfile = File.join(@folder, "Gemfile")
            known = File.exist?(gemfile) ? File.read(gemfile) : ""
            missing = [("tiercel-lab" unless known.include?("tiercel-lab")),
                       ("vernier" unless known.match?(PROFILERS))].compact
            [*missing.map { |name| "Add to the Gemfile: gem \"#{name}\", group: :development, require: false" },
             "What gates is in .tiercel-lab.yml; benchmarks are in bench/. Then: bundle exec tiercel-lab gate"]
          end

          private

          # Refuses a subfolder: neither a gate nor GitHub looks for the files there.
          def refuse_a_part_of_a_repository
            above, status = Open3.capture2("git", "-C", @folder, "rev-parse", "--show-cdup", err: File::NULL)
            return if !status.success? || above.strip.empty?
            root = File.expand_path(above.strip, @folder)
            raise UsageError, "#{@folder} is a part of the repository #{root}: what gates lies in its root " \
                              "(--repository #{above.strip})"
          rescue SystemCallError # no git
            nil
          end

          def subject = @kind == "rails" ? "requests" : gem_name

          def gem_name
            @gem_name ||= Dir.glob("*.gemspec", base: @folder).min&.delete_suffix(".gemspec") || File.basename(@folder)
          end

          # The gem's feature by Ruby's convention: dashes are folders.
          def feature = gem_name.tr("-", "/")

          def packages = @servers.map { |name| PACKAGES.fetch(name) }.join(" ")

          def render(name) = ERB.new(File.read(File.join(TEMPLATES, name)), trim_mode: "-").result(binding)
        end
      end
    end
  end
end
