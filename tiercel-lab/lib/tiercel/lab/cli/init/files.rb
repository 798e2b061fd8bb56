# frozen_string_literal: true

require "erb"
require "open3"
require_relative "../../errors"

module Tiercel
  module Lab
    module CLI
      module Init
        # The files of `init`, for a gem or a Rails application.
        class Files
          KINDS = %w[gem rails].freeze
          TEMPLATES = File.expand_path("templates", __dir__)
          # By what is asked for: path in the repository, and template.
          PATHS = {
            "gate" => { ".tiercel-lab.yml" => "gate.yml", "bench/SUBJECT_bench.rb" => "KIND_bench.rb" },
            "ci" => { ".github/workflows/benchmarks.yml" => "benchmarks.yml",
                      ".github/workflows/benchmark-history.yml" => "history.yml" }
          }.freeze
          # One of them tells where the time goes.
          PROFILERS = /vernier|stackprof/
          # Debian's names of the servers' packages.
          PACKAGES = { "memcached" => "memcached", "redis" => "redis-server" }.freeze

          attr_reader :folder

          # @param folder [String] of the repository
          # @param servers [Array<String>]
          # @param kind [String, nil] of {KINDS}; nil: an application has config/application.rb
          # @raise [UsageError] if there is no such folder
          def initialize(folder, servers:, kind: nil)
            @folder = File.expand_path(folder)
            raise UsageError, "#{folder}: there is no such folder" unless File.directory?(@folder)
            refuse_a_part_of_a_repository
            @servers = servers
            @kind = kind || (File.exist?(File.join(@folder, "config/application.rb")) ? "rails" : "gem")
          end

          # @param what [String] of {PATHS}
          # @return [Hash{String => String}] texts by path
          def of(what)
            PATHS.fetch(what).to_h do |path, template|
              [path.sub("SUBJECT", subject), render(template.sub("KIND", @kind))]
            end
          end

          # @return [Array<String>] what is left to do
          def advice
            gemfile = File.join(@folder, "Gemfile")
            known = File.exist?(gemfile) ? File.read(gemfile) : ""
            missing = [("tiercel-lab" unless known.include?("tiercel-lab")),
                       ("vernier" unless known.match?(PROFILERS))].compact
            [*missing.map { |name| "Add to the Gemfile: gem \"#{name}\", group: :development, require: false" },
             "What gates is in .tiercel-lab.yml; benchmarks are in bench/. Then: bundle exec tiercel-lab gate"]
          end

          private

          # Neither a gate nor GitHub would find the files there.
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

          # As Ruby's gems are required: dashes are folders.
          def feature = gem_name.tr("-", "/")

          def packages = @servers.map { |name| PACKAGES.fetch(name) }.join(" ")

          def render(name) = ERB.new(File.read(File.join(TEMPLATES, name)), trim_mode: "-").result(binding)
        end
      end
    end
  end
end
