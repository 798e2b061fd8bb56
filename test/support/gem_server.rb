# frozen_string_literal: true

require "digest"
require "rubygems/package"
require "socket"

# A gem server on a loopback port. The server serves Bundler's compact index of the gems in a folder.
#
#   GemServer.run(["pkg/tiercel-0.1.0.gem"]) { |server| File.write("Gemfile", "source #{server.url.inspect}...") }
class GemServer
  # @param gems [Array<String>] paths
  # @yieldparam server [GemServer]
  def self.run(gems)
    server = new(gems)
    yield server
  ensure
    server&.stop
  end

  # @return [Array<String>] the requested paths
  attr_reader :requests

  def initialize(gems)
    @files = gems.to_h { |path| ["/gems/#{Gem::Package.new(path).spec.file_name}", File.binread(path)] }
    @requests = []
    index(gems)
    @socket = TCPServer.new("127.0.0.1", 0)
    @thread = Thread.new { loop { serve(@socket.accept) } }
    @thread.report_on_exception = false
  end

  def url = "http://127.0.0.1:#{@socket.addr[1]}"

  def stop
    @thread.kill.join
    @socket.close
  end

  private

  def index(gems)
    lines = gems.group_by { |path| Gem::Package.new(path).spec.name }
    versions = lines.map do |name, paths|
      info = "---\n#{paths.map { |path| info_line(path) }.join}"
      @files["/info/#{name}"] = info
      "#{name} #{paths.map { |path| version(Gem::Package.new(path).spec) }.join(",")} #{Digest::MD5.hexdigest(info)}\n"
    end
    @files["/versions"] = "created_at: 2026-01-01T00:00:00Z\n---\n#{versions.join}"
    @files["/names"] = "---\n#{lines.keys.join("\n")}\n"
  end

  def version(spec) = spec.platform == "ruby" ? spec.version.to_s : "#{spec.version}-#{spec.platform}"

  def info_line(path)
    spec = Gem::Package.new(path).spec
    needs = spec.runtime_dependencies.map { |one| "#{one.name}:#{requirement(one.requirement)}" }
    bounds = ["checksum:#{Digest::SHA256.hexdigest(File.binread(path))}",
              "ruby:#{requirement(spec.required_ruby_version)}",
              "rubygems:#{requirement(spec.required_rubygems_version)}"]
    "#{version(spec)} #{needs.join(",")}|#{bounds.join(",")}\n"
  end

  def requirement(requirement) = requirement.requirements.map { |one| one.join(" ") }.join("&")

  def serve(client)
    path = client.gets.to_s.split[1]
    nil until client.gets.to_s.strip.empty?
    @requests << path
    body = @files[path]
    client.write("HTTP/1.1 #{body ? "200 OK" : "404 Not Found"}\r\nContent-Length: #{body.to_s.bytesize}\r\n" \
                 "Connection: close\r\n\r\n", body.to_s)
  rescue SystemCallError
    nil
  ensure
    client.close
  end
end
